/* SQLite does not check that a WAL belongs to its database, and a journal position is only a
 * number. Somebody may restore a database next to the WAL or journal of another one. Without these
 * checks it would be opened without an error. */
#include "store/sqlite/store_identity.h"

#include "base/alloc.h"
#include "store/journal/journal.h"

#include <errno.h>
#include <stdlib.h>

#include "store/sqlite/page_sum.h"
#include "store/sqlite/schema.h"

/* SQLite's file format: 1 without a WAL, 2 with one. */
#define READ_VERSION_AT 19
#define READ_VERSION_WITHOUT_WAL 1

#define ADVICE                                                                                     \
    "put back the database that it belongs to, or move it away (docs/operators/reference.md, "     \
    "Backup and restore); nothing has been changed"

uint64_t identity_journal_id(struct sql *q)
{
    bool has_meta = sql_get_int(q, "SELECT count(*) FROM sqlite_schema WHERE name='meta'", 0) > 0;
    return has_meta ? (uint64_t)meta_get_int(q, META_JOURNAL_ID, 0) : 0;
}

void identity_make(struct sql *q, uint64_t fresh)
{
    if (identity_journal_id(q) == 0)
        identity_replace(q, fresh);
}

void identity_replace(struct sql *q, uint64_t fresh)
{
    meta_set_int(q, META_JOURNAL_ID, (int64_t)(fresh | 1));
}

/* The size of the file, and its first n bytes; 0: no file. Negative: -errno. */
static int64_t look_at(struct disk *disk, const char *path, char *to, size_t n)
{
    int fd = disk->open(disk, path, false, false);
    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    int64_t size = disk->size(disk, fd);
    if (size >= (int64_t)n && n > 0) {
        int code = disk_read_all(disk, fd, to, n, 0);
        size = code < 0 ? code : size;
    }
    disk->close(disk, fd);
    return size;
}

/* A store that is begun beside a copy keeps the copy from ever being completed. */
static bool no_copy_is_begun(struct disk *disk, const char *database, char **ret_why)
{
    char *part = xprintf("%s.part", database);
    bool is_begun = look_at(disk, part, NULL, 0) > 0;
    if (is_begun)
        *ret_why =
            xprintf("%s is a copy that has not ended: run the same `postbackd copy` again, or "
                    "remove that file to begin with an empty store; nothing has been changed",
                    part);
    free(part);
    return !is_begun;
}

bool identity_check_files(struct disk *disk, const char *database, const char *journal_directory,
                          char **ret_why)
{
    char head[PAGE_RESERVED_AT + 1] = {0};
    char *wal = xprintf("%s-wal", database);
    int64_t bytes = look_at(disk, database, head, sizeof head);
    int64_t wal_bytes = look_at(disk, wal, NULL, 0);
    bool good = bytes >= 0 && wal_bytes >= 0;
    if (!good)
        *ret_why = xprintf("%s cannot be read: %s", bytes < 0 ? database : wal,
                           strerror((int)-(bytes < 0 ? bytes : wal_bytes)));
    else if (bytes == 0)
        good = no_copy_is_begun(disk, database, ret_why) &&
               journal_is_of(disk, journal_directory, 0, ret_why);
    else if (str_has_prefix((struct str){head, sizeof head}, "SQLite format 3") &&
             head[PAGE_RESERVED_AT] != PAGE_SUM_BYTES) {
        /* for anything else SQLite reports an error */
        good = false;
        *ret_why = xprintf("%s has no checksums in its pages: no postbackd has made it; put back "
                           "the store's own database; nothing has been changed",
                           database);
    } else if (wal_bytes > 0 && head[READ_VERSION_AT] == READ_VERSION_WITHOUT_WAL) {
        good = false;
        *ret_why = xprintf("%s is another database's: %s was restored from a backup; " ADVICE, wal,
                           database);
    }
    free(wal);
    return good;
}

bool identity_check_journal(struct sql *q, struct disk *disk, const char *journal_directory,
                            char **ret_why)
{
    uint64_t id = identity_journal_id(q);
    if (!sql_failed(q))
        return journal_is_of(disk, journal_directory, id, ret_why);
    *ret_why = xstrdup(q->why);
    return false;
}
