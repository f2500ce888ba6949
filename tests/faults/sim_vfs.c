/* The VFS: files go through the simulated disk's slots, what connections share (locks and the
 * WAL index) is kept in memory beside the file and is gone when the last one closes it.
 *
 * It is as careful about names as SQLite's own for Unix: the directory is synced with the first
 * sync of a new journal or WAL, and after a deletion that asks for it; nowhere else. */
#include "sim_vfs.h"

#include "base/alloc.h"
#include "sim_inside.h"
#include "store/sqlite/page_sum.h"
#include "turns.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHM_LOCKS SQLITE_SHM_NLOCK
#define SHM_REGIONS 64

struct vfs_file;

struct sim_shared {
    int opens;
    int readers; /* connections with at least a shared lock */
    struct vfs_file *reserved, *pending, *exclusive;
    char *regions[SHM_REGIONS];
    int maps;
    int shm_shared[SHM_LOCKS];
    struct vfs_file *shm_exclusive[SHM_LOCKS];
};

struct vfs_file {
    sqlite3_file base;
    struct sim_disk *disk;
    struct sim_file *file;
    int fd;
    int level; /* of the lock: SQLITE_LOCK_... */
    bool is_mapped, sync_directory, delete_on_close, is_database;
    unsigned shm_shared; /* bits: slots this connection holds shared */
    char *path;
};

struct sim_vfs {
    sqlite3_vfs vfs;
    char name[32];
    int temporary; /* names given to files without one */
};

static struct vfs_file *of(sqlite3_file *file)
{
    return (struct vfs_file *)(void *)file;
}

static struct sim_disk *disk_of(sqlite3_vfs *vfs)
{
    return vfs->pAppData;
}

/* --- bytes ----------------------------------------------------------------------------------- */

static int vfs_read(sqlite3_file *file, void *to, int n, sqlite3_int64 offset)
{
    struct vfs_file *f = of(file);
    ssize_t got = sim_read_at(&f->disk->disk, f->fd, to, (size_t)n, offset);
    if (got < 0)
        return SQLITE_IOERR_READ;
    if (got == n)
        return SQLITE_OK;
    memset((char *)to + got, 0, (size_t)(n - got));
    return SQLITE_IOERR_SHORT_READ;
}

static int vfs_write(sqlite3_file *file, const void *from, int n, sqlite3_int64 offset)
{
    struct vfs_file *f = of(file);
    char page[PAGE_BYTES];
    if (f->is_database && n == PAGE_BYTES) { /* as sqlite/sync_slicing_vfs.c */
        memcpy(page, from, sizeof page);
        page_seal(page, (uint32_t)(offset / PAGE_BYTES + 1));
        from = page;
    }
    ssize_t put = sim_write_at(&f->disk->disk, f->fd, from, (size_t)n, offset);
    if (put == -ENOSPC)
        return SQLITE_FULL;
    return put < 0 ? SQLITE_IOERR_WRITE : SQLITE_OK;
}

static int vfs_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct vfs_file *f = of(file);
    return sim_truncate(&f->disk->disk, f->fd, size) < 0 ? SQLITE_IOERR_TRUNCATE : SQLITE_OK;
}

static int sync_directory_of(struct sim_disk *s, const char *path)
{
    char *directory = xstrdup(path);
    char *slash = strrchr(directory, '/');
    ASSERT(slash != NULL);
    *slash = '\0';
    int result = sim_sync_directory(&s->disk, directory);
    free(directory);
    return result;
}

static int vfs_sync(sqlite3_file *file, int flags)
{
    (void)flags;
    struct vfs_file *f = of(file);
    if (sim_sync_file(&f->disk->disk, f->fd) < 0)
        return SQLITE_IOERR_FSYNC;
    if (!f->sync_directory)
        return SQLITE_OK;
    if (sync_directory_of(f->disk, f->path) < 0)
        return SQLITE_IOERR_DIR_FSYNC;
    f->sync_directory = false;
    return SQLITE_OK;
}

static int vfs_file_size(sqlite3_file *file, sqlite3_int64 *ret)
{
    struct vfs_file *f = of(file);
    int64_t size = sim_size(&f->disk->disk, f->fd);
    if (size < 0)
        return SQLITE_IOERR_FSTAT;
    *ret = size;
    return SQLITE_OK;
}

/* --- locks ------------------------------------------------------------------------------------ */

static int take_lock(struct vfs_file *f, struct sim_shared *shared, int level)
{
    if (level == SQLITE_LOCK_SHARED) {
        if (shared->pending || shared->exclusive)
            return SQLITE_BUSY;
        shared->readers++;
    } else if (level == SQLITE_LOCK_RESERVED) {
        if (shared->reserved && shared->reserved != f)
            return SQLITE_BUSY;
        shared->reserved = f;
    } else {
        if (shared->pending && shared->pending != f)
            return SQLITE_BUSY;
        shared->pending = f;
        if (shared->readers > 1)
            return SQLITE_BUSY;
        shared->exclusive = f;
    }
    f->level = level;
    return SQLITE_OK;
}

static int vfs_lock(sqlite3_file *file, int level)
{
    struct vfs_file *f = of(file);
    if (f->level >= level)
        return SQLITE_OK;
    pthread_mutex_lock(&f->disk->lock);
    int result = take_lock(f, f->file->shared, level);
    pthread_mutex_unlock(&f->disk->lock);
    return result;
}

static void give_lock(struct vfs_file *f, struct sim_shared *shared, int level)
{
    if (shared->exclusive == f)
        shared->exclusive = NULL;
    if (shared->pending == f)
        shared->pending = NULL;
    if (shared->reserved == f)
        shared->reserved = NULL;
    if (level == SQLITE_LOCK_NONE && f->level > SQLITE_LOCK_NONE)
        shared->readers--;
    f->level = level;
}

static int vfs_unlock(sqlite3_file *file, int level)
{
    struct vfs_file *f = of(file);
    if (f->level <= level)
        return SQLITE_OK;
    pthread_mutex_lock(&f->disk->lock);
    give_lock(f, f->file->shared, level);
    pthread_mutex_unlock(&f->disk->lock);
    return SQLITE_OK;
}

static int vfs_check_reserved(sqlite3_file *file, int *ret)
{
    struct vfs_file *f = of(file);
    pthread_mutex_lock(&f->disk->lock);
    *ret = f->file->shared->reserved != NULL;
    pthread_mutex_unlock(&f->disk->lock);
    return SQLITE_OK;
}

/* --- the WAL index ---------------------------------------------------------------------------- */

static int vfs_shm_map(sqlite3_file *file, int region, int bytes, int extend, void volatile **ret)
{
    struct vfs_file *f = of(file);
    ASSERT(region < SHM_REGIONS);
    pthread_mutex_lock(&f->disk->lock);
    struct sim_shared *shared = f->file->shared;
    if (!f->is_mapped) {
        f->is_mapped = true;
        shared->maps++;
    }
    if (!shared->regions[region] && extend)
        shared->regions[region] = xcalloc(1, (size_t)bytes);
    *ret = shared->regions[region];
    pthread_mutex_unlock(&f->disk->lock);
    return SQLITE_OK;
}

static bool shm_is_free(const struct vfs_file *f, int slot, bool exclusive)
{
    const struct sim_shared *shared = f->file->shared;
    if (shared->shm_exclusive[slot] && shared->shm_exclusive[slot] != f)
        return false;
    int mine = (f->shm_shared >> slot) & 1u;
    return !exclusive || shared->shm_shared[slot] == mine;
}

static void shm_set(struct vfs_file *f, int slot, int flags)
{
    struct sim_shared *shared = f->file->shared;
    unsigned bit = 1u << slot;
    if (flags & SQLITE_SHM_UNLOCK) {
        if (f->shm_shared & bit) {
            shared->shm_shared[slot]--;
            f->shm_shared &= ~bit;
        }
        if (shared->shm_exclusive[slot] == f)
            shared->shm_exclusive[slot] = NULL;
    } else if (flags & SQLITE_SHM_EXCLUSIVE) {
        shared->shm_exclusive[slot] = f;
    } else if (!(f->shm_shared & bit)) {
        shared->shm_shared[slot]++;
        f->shm_shared |= bit;
    }
}

static int vfs_shm_lock(sqlite3_file *file, int first, int n, int flags)
{
    struct vfs_file *f = of(file);
    pthread_mutex_lock(&f->disk->lock);
    bool good = true;
    for (int i = first; (flags & SQLITE_SHM_LOCK) && i < first + n; i++)
        good &= shm_is_free(f, i, (flags & SQLITE_SHM_EXCLUSIVE) != 0);
    for (int i = first; good && i < first + n; i++)
        shm_set(f, i, flags);
    pthread_mutex_unlock(&f->disk->lock);
    return good ? SQLITE_OK : SQLITE_BUSY;
}

static void vfs_shm_barrier(sqlite3_file *file)
{
    pthread_mutex_lock(&of(file)->disk->lock); /* everything before is seen after */
    pthread_mutex_unlock(&of(file)->disk->lock);
}

static int vfs_shm_unmap(sqlite3_file *file, int delete_it)
{
    (void)delete_it;
    struct vfs_file *f = of(file);
    pthread_mutex_lock(&f->disk->lock);
    struct sim_shared *shared = f->file->shared;
    for (int i = 0; f->is_mapped && i < SHM_LOCKS; i++)
        shm_set(f, i, SQLITE_SHM_UNLOCK);
    if (f->is_mapped && --shared->maps == 0)
        for (int i = 0; i < SHM_REGIONS; i++) {
            free(shared->regions[i]);
            shared->regions[i] = NULL;
        }
    f->is_mapped = false;
    pthread_mutex_unlock(&f->disk->lock);
    return SQLITE_OK;
}

/* --- files ------------------------------------------------------------------------------------ */

static int vfs_close(sqlite3_file *file)
{
    struct vfs_file *f = of(file);
    vfs_shm_unmap(file, 0);
    pthread_mutex_lock(&f->disk->lock);
    give_lock(f, f->file->shared, SQLITE_LOCK_NONE);
    if (--f->file->shared->opens == 0) {
        free(f->file->shared);
        f->file->shared = NULL;
    }
    pthread_mutex_unlock(&f->disk->lock);
    sim_close(&f->disk->disk, f->fd);
    if (f->delete_on_close)
        sim_unlink(&f->disk->disk, f->path);
    free(f->path);
    return SQLITE_OK;
}

static int vfs_file_control(sqlite3_file *file, int op, void *arg)
{
    (void)file;
    (void)op;
    (void)arg;
    return SQLITE_NOTFOUND;
}

static int vfs_sector_size(sqlite3_file *file)
{
    (void)file;
    return 4096; /* as SQLite's own VFS says */
}

static int vfs_characteristics(sqlite3_file *file)
{
    (void)file;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE; /* a torn sector keeps its neighbours */
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = vfs_close,
    .xRead = vfs_read,
    .xWrite = vfs_write,
    .xTruncate = vfs_truncate,
    .xSync = vfs_sync,
    .xFileSize = vfs_file_size,
    .xLock = vfs_lock,
    .xUnlock = vfs_unlock,
    .xCheckReservedLock = vfs_check_reserved,
    .xFileControl = vfs_file_control,
    .xSectorSize = vfs_sector_size,
    .xDeviceCharacteristics = vfs_characteristics,
    .xShmMap = vfs_shm_map,
    .xShmLock = vfs_shm_lock,
    .xShmBarrier = vfs_shm_barrier,
    .xShmUnmap = vfs_shm_unmap,
};

static bool exists(struct sim_disk *s, const char *path)
{
    return sim_disk_file_bytes(s, path) >= 0;
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                    int *ret_flags)
{
    struct sim_disk *s = disk_of(vfs);
    struct vfs_file *f = of(file);
    char temporary[64];
    memset(f, 0, sizeof *f);
    if (!name) {
        snprintf(temporary, sizeof temporary, "/temporary/%d", s->vfs->temporary++);
        name = temporary;
    }
    bool create = (flags & SQLITE_OPEN_CREATE) != 0, is_new = !exists(s, name);
    int fd = sim_open(&s->disk, name, create, false);
    if (fd < 0)
        return SQLITE_CANTOPEN;
    f->disk = s;
    f->fd = fd;
    f->path = xstrdup(name);
    f->is_database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
    f->delete_on_close = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0;
    f->sync_directory = is_new && (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL)) != 0;
    pthread_mutex_lock(&s->lock);
    f->file = s->fds[fd - SIM_FIRST_FD];
    if (!f->file->shared)
        f->file->shared = xcalloc(1, sizeof *f->file->shared);
    f->file->shared->opens++;
    pthread_mutex_unlock(&s->lock);
    f->base.pMethods = &methods;
    if (ret_flags)
        *ret_flags = flags;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync_directory)
{
    struct sim_disk *s = disk_of(vfs);
    int result = sim_unlink(&s->disk, name);
    if (result == -ENOENT)
        return SQLITE_IOERR_DELETE_NOENT;
    if (result < 0)
        return SQLITE_IOERR_DELETE;
    if (sync_directory && sync_directory_of(s, name) < 0)
        return SQLITE_IOERR_DIR_FSYNC;
    return SQLITE_OK;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret)
{
    struct sim_disk *s = disk_of(vfs);
    int64_t bytes = sim_disk_file_bytes(s, name);
    *ret = flags == SQLITE_ACCESS_EXISTS ? bytes > 0 : bytes >= 0; /* empty: as if absent */
    return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *name, int n, char *ret)
{
    (void)vfs;
    return snprintf(ret, (size_t)n, "%s", name) < n ? SQLITE_OK : SQLITE_CANTOPEN;
}

/* Where somebody else has a lock; who has it must get a turn meanwhile. */
static int vfs_sleep(sqlite3_vfs *vfs, int us)
{
    sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    (void)vfs;
    return turns_sleep_us(us) ? us : real->xSleep(real, us);
}

/* --- life ------------------------------------------------------------------------------------- */

void sim_vfs_add(struct sim_disk *s)
{
    static int count;
    sqlite3_initialize();
    struct sim_vfs *v = xcalloc(1, sizeof *v);
    v->vfs = *sqlite3_vfs_find(NULL); /* clock and randomness are its own */
    snprintf(v->name, sizeof v->name, "simulated-%d", ++count);
    v->vfs.zName = v->name;
    v->vfs.pNext = NULL;
    v->vfs.szOsFile = (int)sizeof(struct vfs_file);
    v->vfs.mxPathname = 512;
    v->vfs.pAppData = s;
    v->vfs.xOpen = vfs_open;
    v->vfs.xDelete = vfs_delete;
    v->vfs.xAccess = vfs_access;
    v->vfs.xFullPathname = vfs_full_path;
    v->vfs.xSleep = vfs_sleep;
    ASSERT(sqlite3_vfs_register(&v->vfs, 0) == SQLITE_OK);
    s->vfs = v;
    s->disk.sqlite_vfs = v->name;
}

void sim_vfs_remove(struct sim_disk *s)
{
    sqlite3_vfs_unregister(&s->vfs->vfs);
    free(s->vfs);
    s->vfs = NULL;
    s->disk.sqlite_vfs = NULL;
}
