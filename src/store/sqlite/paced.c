/* A file of the default VFS with one method replaced and a little state behind it.
 *
 * The VFS below puts its own struct at the front of the memory that a file gets (szOsFile) and its
 * method table's address first of all. So a file is opened as ever and then given a copy of its
 * table with our xWrite in it; the copy and the count lie behind what the VFS below knows of. It
 * never sees either: closing clears its own part only. */
#include "store/sqlite/paced.h"

#include "base/check.h"

#include <pthread.h>
#include <sqlite3.h>

struct slice {
    sqlite3_io_methods methods;
    const sqlite3_io_methods *below;
    int unsynced_bytes;
};

static sqlite3_vfs *below, paced;

static struct slice *slice_of(sqlite3_file *file)
{
    return (struct slice *)(void *)((char *)file + paced.szOsFile - (int)sizeof(struct slice));
}

static int paced_write(sqlite3_file *file, const void *from, int n, sqlite3_int64 at)
{
    struct slice *s = slice_of(file);
    int code = s->below->xWrite(file, from, n, at);
    if (code != SQLITE_OK)
        return code;
    s->unsynced_bytes += n;
    if (s->unsynced_bytes < PACED_SLICE_BYTES)
        return SQLITE_OK;
    s->unsynced_bytes = 0;
    /* A failure is told as one of the write: what the disk holds of it is as unknown. */
    return s->below->xSync(file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
}

static int paced_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                      int *ret_flags)
{
    (void)vfs;
    int code = below->xOpen(below, name, file, flags, ret_flags);
    if (code != SQLITE_OK || !(flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)))
        return code;
    struct slice *s = slice_of(file);
    *s = (struct slice){*file->pMethods, file->pMethods, 0};
    s->methods.xWrite = paced_write;
    file->pMethods = &s->methods;
    return SQLITE_OK;
}

static void register_once(void)
{
    below = sqlite3_vfs_find(NULL);
    ASSERT(below);
    paced = *below;
    paced.pNext = NULL;
    paced.zName = "postbackd-paced";
    paced.szOsFile =
        (below->szOsFile + 15) / 16 * 16 + (int)((sizeof(struct slice) + 15) / 16 * 16);
    paced.xOpen = paced_open;
    ASSERT(sqlite3_vfs_register(&paced, 0) == SQLITE_OK);
}

const char *paced_vfs(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    ASSERT(pthread_once(&once, register_once) == 0);
    return paced.zName;
}
