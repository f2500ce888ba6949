/* A checkpoint copies pages from the WAL to the database file; only then may the journal release
 * the groups with their changes. It relies on SQLite's order: sync the WAL, write the pages, sync
 * the database. A failed sync breaks this order for good: the kernel marks the pages clean, the
 * next sync succeeds without them, and reads still return them from the page cache. So a process
 * whose sync has failed must end, and the next one must not trust the WAL that it reads. Before its
 * first checkpoint a process therefore writes again, byte for byte,
 *
 * - every frame of the WAL that it found, and syncs the WAL;
 * - the pages of the database that SQLite will not copy again, because the WAL index counts them as
 *   copied (another process, such as a backup, has kept the index alive). SQLite syncs these pages.
 *
 * A power cut during this does no harm: each sector has the same bytes before and after, or older
 * bytes, whose changes the journal still has. */
#include "store/sqlite/checkpoint.h"

#include "base/alloc.h"
#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

/* Of SQLite's file formats (https://www.sqlite.org/walformat.html). */
#define WAL_HEAD_BYTES 32
#define WAL_HEAD_PAGE_SIZE 8
#define WAL_HEAD_SALTS 16
#define WAL_FRAME_HEAD_BYTES 24
#define WAL_FRAME_SALTS 8
#define SALTS_BYTES 8
#define INDEX_REGION_BYTES 32768
/* in the index's first region: number of frames that are in the database file */
#define INDEX_COPIED 96
#define LOCK_WRITE 0 /* followed by the checkpoint lock */
#define LOCKS 2

struct found_wal {
    sqlite3_file *wal, *database;
    uint32_t page_bytes, copied_frames;
    char salts[SALTS_BYTES];
    char *frame;
};

static int64_t frame_offset(const struct found_wal *f, uint32_t frame)
{
    return WAL_HEAD_BYTES + (int64_t)(frame - 1) * (WAL_FRAME_HEAD_BYTES + (int64_t)f->page_bytes);
}

/* Rewrites every current frame of the WAL: each reset of the WAL changes the salts. */
static int write_frames(struct found_wal *f)
{
    int bytes = WAL_FRAME_HEAD_BYTES + (int)f->page_bytes;
    sqlite3_int64 size = 0;
    int code = f->wal->pMethods->xFileSize(f->wal, &size);
    for (uint32_t frame = 1; code == SQLITE_OK && frame_offset(f, frame + 1) <= size; frame++) {
        int64_t at = frame_offset(f, frame);
        code = f->wal->pMethods->xRead(f->wal, f->frame, bytes, at);
        if (code == SQLITE_OK && memcmp(f->frame + WAL_FRAME_SALTS, f->salts, SALTS_BYTES) != 0)
            break;
        if (code == SQLITE_OK)
            code = f->wal->pMethods->xWrite(f->wal, f->frame, bytes, at);
    }
    return code == SQLITE_OK ? f->wal->pMethods->xSync(f->wal, SQLITE_SYNC_NORMAL) : code;
}

static int write_copied_pages(struct found_wal *f)
{
    const sqlite3_io_methods *m = f->database->pMethods;
    sqlite3_int64 size = 0;
    int code = m->xFileSize(f->database, &size);
    for (uint32_t frame = 1; code == SQLITE_OK && frame <= f->copied_frames; frame++) {
        code =
            f->wal->pMethods->xRead(f->wal, f->frame, WAL_FRAME_HEAD_BYTES, frame_offset(f, frame));
        int64_t page = get_be32(f->frame), at = (page - 1) * f->page_bytes;
        if (code != SQLITE_OK || page == 0 || at + f->page_bytes > size)
            continue;
        code = m->xRead(f->database, f->frame, (int)f->page_bytes, at);
        if (code == SQLITE_OK)
            code = m->xWrite(f->database, f->frame, (int)f->page_bytes, at);
    }
    return code;
}

/* Called with the locks held: nobody else writes to either file. */
static int write_again(struct found_wal *f)
{
    char head[WAL_HEAD_BYTES];
    sqlite3_int64 size = 0;
    int code = f->wal->pMethods->xFileSize(f->wal, &size);
    if (code != SQLITE_OK || size < WAL_HEAD_BYTES)
        return code;
    code = f->wal->pMethods->xRead(f->wal, head, WAL_HEAD_BYTES, 0);
    if (code != SQLITE_OK)
        return code;
    f->page_bytes = get_be32(head + WAL_HEAD_PAGE_SIZE);
    if (f->page_bytes < 512 || f->page_bytes > 65536)
        return SQLITE_OK; /* not a head: SQLite finds no frame in the WAL either */
    memcpy(f->salts, head + WAL_HEAD_SALTS, SALTS_BYTES);
    void volatile *index = NULL;
    code = f->database->pMethods->xShmMap(f->database, 0, INDEX_REGION_BYTES, 0, &index);
    if (code == SQLITE_OK && index)
        f->copied_frames = *(uint32_t volatile *)((char volatile *)index + INDEX_COPIED);
    if (code == SQLITE_OK)
        code = f->wal->pMethods->xWrite(f->wal, head, WAL_HEAD_BYTES, 0);
    f->frame = xmalloc(WAL_FRAME_HEAD_BYTES + f->page_bytes);
    if (code == SQLITE_OK)
        code = write_frames(f);
    if (code == SQLITE_OK)
        code = write_copied_pages(f);
    free(f->frame);
    return code;
}

static int settle_found_wal(sqlite3 *db)
{
    struct found_wal f = {0};
    int code = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &f.database);
    if (code == SQLITE_OK)
        code = sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &f.wal);
    if (code == SQLITE_OK && !f.wal->pMethods)
        code = SQLITE_CANTOPEN; /* the database has no WAL */
    if (code != SQLITE_OK)
        return code;
    code = f.database->pMethods->xShmLock(f.database, LOCK_WRITE, LOCKS,
                                          SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE);
    if (code != SQLITE_OK)
        return code;
    code = write_again(&f);
    int unlocked = f.database->pMethods->xShmLock(f.database, LOCK_WRITE, LOCKS,
                                                  SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE);
    return code != SQLITE_OK ? code : unlocked;
}

enum checkpoint_result checkpoint_run(struct sql *q, bool truncate)
{
    /* a read transaction opens the WAL and its index if they are not open yet */
    (void)sql_get_int(q, "PRAGMA data_version", 0);
    if (sql_failed(q))
        return CHECKPOINT_FAILED;
    int code = q->wal_settled ? SQLITE_OK : settle_found_wal(q->db);
    q->wal_settled = code == SQLITE_OK;
    int frames = -1, done = -2;
    if (code == SQLITE_OK)
        code = sqlite3_wal_checkpoint_v2(
            q->db, NULL, truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE, &frames,
            &done);
    if (code == SQLITE_OK)
        return frames == done ? CHECKPOINT_COMPLETE : CHECKPOINT_PARTIAL;
    if (sql_is_passing(code))
        return CHECKPOINT_PARTIAL;
    sql_fail(q, code, "checkpoint");
    return CHECKPOINT_FAILED;
}
