/* A file of the default VFS with some methods replaced and some state added.
 *
 * The default VFS uses the first szOsFile bytes of a file's memory. They begin with the address of
 * its method table. This VFS lets the default VFS open the file. Then it makes a copy of the method
 * table, puts its own methods into the copy, and points the file to the copy. The copy and the
 * state are stored behind those szOsFile bytes, which the default VFS never reads or clears. */
#include "store/sqlite/sync_slicing_vfs.h"

#include "base/check.h"
#include "store/sqlite/page_sum.h"
#include "store/store_open.h"

#include <pthread.h>
#include <sqlite3.h>
#include <string.h>

struct slice {
    sqlite3_io_methods methods;
    const sqlite3_io_methods *below;
    int unsynced_bytes;
    bool is_database, has_sums;    /* the main file; its pages have room for checksums */
    struct damaged_pages *damaged; /* of the database; NULL: reads are not checked */
};

static sqlite3_vfs *below, slicing;

static struct slice *slice_of(sqlite3_file *file)
{
    return (struct slice *)(void *)((char *)file + slicing.szOsFile - (int)sizeof(struct slice));
}

static bool has_room_for_sums(const char *head)
{
    return head[PAGE_RESERVED_AT] == PAGE_SUM_BYTES;
}

static int write_sealed(struct slice *s, sqlite3_file *file, const void *from, sqlite3_int64 at)
{
    char page[PAGE_BYTES];
    memcpy(page, from, sizeof page);
    page_seal(page, (uint32_t)(at / PAGE_BYTES + 1));
    return s->below->xWrite(file, page, sizeof page, at);
}

static int slicing_write(sqlite3_file *file, const void *from, int n, sqlite3_int64 at)
{
    struct slice *s = slice_of(file);
    bool is_page = s->is_database && n == PAGE_BYTES;
    if (is_page && at == 0)
        s->has_sums = has_room_for_sums(from);
    int code = is_page && s->has_sums ? write_sealed(s, file, from, at)
                                      : s->below->xWrite(file, from, n, at);
    if (code != SQLITE_OK)
        return code;
    s->unsynced_bytes += n;
    if (s->unsynced_bytes < SYNC_SLICE_BYTES)
        return SQLITE_OK;
    s->unsynced_bytes = 0;
    /* a failed sync counts as a failed write: what the disk holds is unknown in either case */
    return s->below->xSync(file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
}

static int slicing_read(sqlite3_file *file, void *to, int n, sqlite3_int64 at)
{
    struct slice *s = slice_of(file);
    int code = s->below->xRead(file, to, n, at);
    if (code != SQLITE_OK || !s->damaged || !s->has_sums || n != PAGE_BYTES ||
        page_is_whole(to, (uint32_t)(at / PAGE_BYTES + 1)))
        return code;
    if (!s->damaged->count++)
        s->damaged->first_offset = at;
    return SQLITE_OK;
}

static int slicing_control(sqlite3_file *file, int operation, void *argument)
{
    struct slice *s = slice_of(file);
    if (operation != VFS_CHECK_READS)
        return s->below->xFileControl(file, operation, argument);
    s->damaged = argument;
    return SQLITE_OK;
}

/* A new file gets checksums: sql_open reserves room in each page. */
static bool file_has_sums(const struct slice *s, sqlite3_file *file)
{
    char head[PAGE_RESERVED_AT + 1];
    return s->below->xRead(file, head, sizeof head, 0) != SQLITE_OK || has_room_for_sums(head);
}

static int slicing_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                        int *ret_flags)
{
    (void)vfs;
    int code = below->xOpen(below, name, file, flags, ret_flags);
    if (code != SQLITE_OK || !(flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)))
        return code;
    struct slice *s = slice_of(file);
    *s = (struct slice){.methods = *file->pMethods, .below = file->pMethods};
    s->is_database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
    s->has_sums = s->is_database && file_has_sums(s, file);
    s->methods.xWrite = slicing_write;
    s->methods.xRead = slicing_read;
    s->methods.xFileControl = slicing_control;
    file->pMethods = &s->methods;
    return SQLITE_OK;
}

static void register_once(void)
{
    below = sqlite3_vfs_find(NULL);
    ASSERT(below);
    slicing = *below;
    slicing.pNext = NULL;
    slicing.zName = "postbackd-sync-slicing";
    slicing.szOsFile =
        (below->szOsFile + 15) / 16 * 16 + (int)((sizeof(struct slice) + 15) / 16 * 16);
    slicing.xOpen = slicing_open;
    ASSERT(sqlite3_vfs_register(&slicing, 0) == SQLITE_OK);
}

const char *sync_slicing_vfs(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    ASSERT(pthread_once(&once, register_once) == 0);
    return slicing.zName;
}
