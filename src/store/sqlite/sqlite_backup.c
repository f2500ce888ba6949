/* Backup: copies a snapshot of SQLite, replays the journal's tail into the copy with the code of
 * recovery, then checks the whole copy.
 *
 * The snapshot is a read transaction that stays open until the tail has been read. Meanwhile no
 * checkpoint with newer commits can be complete, and only a complete one releases journal segments.
 * So the tail from the snapshot's position on exists, whatever the daemon does. A group that the
 * daemon is just writing may or may not be included. */
#include "store/store_open.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/sqlite/recover.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite_migrate.h"
#include "store/sqlite/store_identity.h"
#include "store/sqlite/sync_slicing_vfs.h"

struct backup {
    struct sql from;
    struct damaged_pages *damaged; /* of `from` */
    struct disk *disk;
    char *journal_directory, *part; /* part: FILE.part, linked to FILE at the end */
    /* FILE.part.lock, so that two backups cannot share a part. A file of its own: on network file
     * systems a lock of the part would keep SQLite out. */
    char *lock;
    int lock_fd;
    const char *file;
    struct apply apply; /* writes to the copy */
    struct view view;
};

static bool backup_failed(const struct sql *q, const char *what, char **ret_why)
{
    *ret_why = xprintf("%s: %s", what, q->why ? q->why : sqlite3_errmsg(q->db));
    return false;
}

/* SQLite and the journal open the store's files for writing, too. Their own messages would name an
 * inner file, and not what to do. */
static bool check_access(const char *path, char **ret_why)
{
    if (access(path, R_OK | W_OK) == 0)
        return true;
    if (errno == EROFS)
        *ret_why = xprintf("%s is on a read-only file system, but a backup opens the store's files "
                           "for writing, too: mount that file system writable, or copy the whole "
                           "directory to another one and back up the copy",
                           path);
    else
        *ret_why = xprintf("%s cannot be read and written: %s", path, strerror(errno));
    return false;
}

/* Opens the source and fixes the snapshot. */
static bool open_source(struct backup *b, const char *directory, char **ret_why)
{
    char *path = xprintf("%s/postbackd.db", directory);
    struct sql *q = &b->from;
    bool good =
        check_access(path, ret_why) && sql_open(q, path, b->disk->sqlite_vfs, false, ret_why);
    free(path);
    if (!good)
        return false;
    /* a test's VFS may not support it */
    (void)sqlite3_file_control(q->db, "main", VFS_CHECK_READS, b->damaged);
    schema_configure(q, false, SCHEMA_CACHE_KIB_READER);
    sql_exec(q, "BEGIN");
    int version = (int)sql_get_int(q, "PRAGMA user_version", -1);
    if (sql_failed(q))
        return backup_failed(q, "the store cannot be read", ret_why);
    if (!migrate_is_known(q, version, SCHEMA_VERSION, ret_why))
        return false;
    if (version == 0)
        *ret_why =
            xstrdup("postbackd.db has schema version 0: it is not a store, or its first start"
                    " did not finish");
    else if (version < SCHEMA_VERSION)
        *ret_why =
            xprintf("the store has schema version %d, not %d: start this postbackd on it once",
                    version, SCHEMA_VERSION);
    return version == SCHEMA_VERSION;
}

static bool copy_pages(struct backup *b, char **ret_why)
{
    struct sql *q = &b->apply.sql;
    if (!sql_open(q, b->part, b->disk->sqlite_vfs, true, ret_why))
        return false;
    sqlite3_backup *copy = sqlite3_backup_init(q->db, "main", b->from.db, "main");
    int code = copy ? sqlite3_backup_step(copy, -1) : sqlite3_errcode(q->db);
    if (copy)
        (void)sqlite3_backup_finish(copy);
    if (code == SQLITE_DONE)
        return true;
    *ret_why = xprintf("%s cannot be written: %s", b->part, sqlite3_errstr(code));
    return false;
}

/* Nobody else uses the copy, so it needs no WAL, and must be a single file at the end. */
static bool replay_tail(struct backup *b, char **ret_why)
{
    struct sql *q = &b->apply.sql;
    /* it is synced once, at the end */
    sql_exec(q, "PRAGMA synchronous=OFF");
    sql_set_journal_mode(q, "delete");
    if (sql_failed(q))
        return backup_failed(q, "the copy cannot be written", ret_why);
    return recover_tail(&b->apply, &b->view, b->disk, b->part, b->journal_directory, ret_why);
}

static bool check_copy(struct backup *b, char **ret_why)
{
    struct sql *q = &b->apply.sql;
    /* A new directory begins a new journal at the first position. The copy gets a new id, because
     * the old journal belongs to the store that was copied. */
    uint64_t id;
    env_random(env_real(), &id, sizeof id);
    identity_replace(q, id);
    meta_set_int(q, "journal_segment", 0);
    meta_set_int(q, "journal_offset", 0);
    sqlite3_stmt *s = sql_prepare(q, "PRAGMA integrity_check(1)");
    bool good = sql_row(q, s) && str_is(sql_str(s, 0), "ok");
    if (!good && !sql_failed(q))
        *ret_why = xprintf("the copy is damaged: %.*s", STR_ARG(sql_str(s, 0)));
    sql_finalize(s);
    if (sql_failed(q))
        return backup_failed(q, "the copy cannot be checked", ret_why);
    return good;
}

static bool finish(struct backup *b, char **ret_why)
{
    view_close(&b->view);
    apply_close(&b->apply);
    int fd = b->disk->open(b->disk, b->part, false, false);
    int code = fd < 0 ? fd : b->disk->sync_file(b->disk, fd);
    if (fd >= 0)
        b->disk->close(b->disk, fd);
    /* link, not rename: link refuses a file that was made meanwhile */
    if (code == 0 && link(b->part, b->file) != 0)
        code = -errno;
    if (code != 0) {
        *ret_why = xprintf("%s cannot be written: %s", b->file, strerror(-code));
        return false;
    }
    const char *slash = strrchr(b->file, '/');
    char *parent = slash ? xprintf("%.*s", (int)(slash - b->file + 1), b->file) : xstrdup(".");
    code = b->disk->sync_directory(b->disk, parent);
    if (code != 0)
        *ret_why = xprintf("%s cannot be synced: %s", parent, strerror(-code));
    free(parent);
    return code == 0;
}

/* With the files that SQLite makes beside it, and leaves there after a failure or a kill. */
static void remove_part(const struct backup *b)
{
    static const char *const ends[] = {"", "-journal", "-wal", "-shm"};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        char *path = xprintf("%s%s", b->part, ends[i]);
        unlink(path);
        free(path);
    }
}

/* -ESTALE: the other process has just ended, and the file that was locked has no name any more. */
static bool lock_part(struct backup *b, char **ret_why)
{
    b->lock_fd = b->disk->open(b->disk, b->lock, true, false);
    if (b->lock_fd < 0) {
        *ret_why = xprintf("%s cannot be made: %s: choose a FILE in a directory that can be "
                           "written",
                           b->lock, strerror(-b->lock_fd));
        return false;
    }
    int code = disk_lock(b->lock_fd, b->lock);
    if (code == 0)
        return true;
    b->disk->close(b->disk, b->lock_fd);
    *ret_why = code == -EWOULDBLOCK || code == -ESTALE
                   ? xprintf("%s is being written by another process", b->part)
                   : xprintf("%s cannot be locked: %s", b->lock, strerror(-code));
    return false;
}

static void unlock_part(const struct backup *b)
{
    unlink(b->lock);
    b->disk->close(b->disk, b->lock_fd);
}

bool sqlite_store_backup(const char *directory, struct disk *disk, const char *file,
                         struct damaged_pages *ret_damaged, char **ret_why)
{
    *ret_damaged = (struct damaged_pages){0};
    if (access(file, F_OK) == 0) {
        *ret_why = xprintf("%s exists already: choose a new file", file);
        return false;
    }
    struct backup b = {
        .disk = disk,
        .damaged = ret_damaged,
        .file = file,
        .journal_directory = xprintf("%s/journal", directory),
        .part = xprintf("%s.part", file),
        .lock = xprintf("%s.part.lock", file),
    };
    bool is_locked = lock_part(&b, ret_why);
    if (is_locked)
        remove_part(&b); /* left by an interrupted backup */
    bool good = is_locked && open_source(&b, directory, ret_why) && copy_pages(&b, ret_why) &&
                replay_tail(&b, ret_why) && check_copy(&b, ret_why) && finish(&b, ret_why);
    view_close(&b.view);
    apply_close(&b.apply);
    sql_close(&b.from);
    if (is_locked) {
        remove_part(&b);
        unlock_part(&b);
    }
    free(b.lock);
    free(b.journal_directory);
    free(b.part);
    return good;
}
