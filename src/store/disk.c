/* The real disk: one system call in each slot, and the loops around them that every caller needs.
 * When events are refused because the disk is nearly full: store/sqlite/admission.c. */
#include "store/disk.h"

#include "base/alloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Where the system calls look the name up: in the held folder, for names below it. */
struct at_name {
    int at;
    const char *name;
};

static struct at_name at_name(const struct disk *disk, const char *path)
{
    const struct disk_folder *folder = disk->folder;
    size_t n = folder ? strlen(folder->path) : 0;
    if (n == 0 || strncmp(path, folder->path, n) != 0 || (path[n] != '/' && path[n] != '\0'))
        return (struct at_name){AT_FDCWD, path};
    path += n;
    while (*path == '/')
        path++;
    return (struct at_name){folder->fd, *path ? path : "."};
}

static int retrying_open(struct at_name place, int flags)
{
    int fd;
    do {
        fd = openat(place.at, place.name, flags, 0600);
    } while (fd < 0 && errno == EINTR);
    return fd < 0 ? -errno : fd;
}

static int real_open(struct disk *disk, const char *path, bool create, bool direct)
{
    struct at_name place = at_name(disk, path);
    int flags = O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0);
    if (!direct)
        return retrying_open(place, flags);
    int fd = retrying_open(place, flags | O_DIRECT);
    if (fd != -EINVAL)
        return fd;
    return retrying_open(place, flags); /* tmpfs and others do not support O_DIRECT */
}

static int real_close(struct disk *disk, int fd)
{
    (void)disk;
    return close(fd) < 0 ? -errno : 0;
}

static ssize_t real_read_at(struct disk *disk, int fd, void *to, size_t n, int64_t offset)
{
    (void)disk;
    ssize_t got = pread(fd, to, n, offset);
    return got < 0 ? -errno : got;
}

static ssize_t real_write_at(struct disk *disk, int fd, const void *from, size_t n, int64_t offset)
{
    (void)disk;
    ssize_t put = pwrite(fd, from, n, offset);
    return put < 0 ? -errno : put;
}

static int real_sync_file(struct disk *disk, int fd)
{
    (void)disk;
    return fdatasync(fd) < 0 ? -errno : 0;
}

static int real_sync_directory(struct disk *disk, const char *path)
{
    int fd = retrying_open(at_name(disk, path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fd;
    int result = fsync(fd) < 0 ? -errno : 0;
    close(fd);
    return result;
}

static int real_rename(struct disk *disk, const char *from, const char *to)
{
    struct at_name old = at_name(disk, from), new = at_name(disk, to);
    return renameat(old.at, old.name, new.at, new.name) < 0 ? -errno : 0;
}

static int real_unlink(struct disk *disk, const char *path)
{
    struct at_name place = at_name(disk, path);
    return unlinkat(place.at, place.name, 0) < 0 ? -errno : 0;
}

static int64_t real_size(struct disk *disk, int fd)
{
    (void)disk;
    struct stat st;
    return fstat(fd, &st) < 0 ? -errno : (int64_t)st.st_size;
}

static int real_truncate(struct disk *disk, int fd, int64_t size)
{
    (void)disk;
    return ftruncate(fd, size) < 0 ? -errno : 0;
}

static int real_list(struct disk *disk, const char *path,
                     void (*visit)(void *context, const char *name), void *context)
{
    int fd = retrying_open(at_name(disk, path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fd;
    DIR *dir = fdopendir(fd);
    ASSERT(dir != NULL);
    int result = 0;
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(dir);
        if (!entry) {
            result = -errno;
            break;
        }
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            visit(context, entry->d_name);
    }
    closedir(dir);
    return result;
}

static int real_make_directory(struct disk *disk, const char *path)
{
    struct at_name place = at_name(disk, path);
    return mkdirat(place.at, place.name, 0700) < 0 ? -errno : 0;
}

static int real_space(struct disk *disk, const char *path, int64_t *ret_free, int64_t *ret_total)
{
    struct at_name place = at_name(disk, path);
    struct statvfs s;
    if ((place.at == AT_FDCWD ? statvfs(path, &s) : fstatvfs(place.at, &s)) != 0)
        return -errno;
    *ret_free = (int64_t)(s.f_bavail * s.f_frsize);
    *ret_total = (int64_t)(s.f_blocks * s.f_frsize);
    return 0;
}

struct disk *disk_real(void)
{
    static struct disk real = {
        .has_folders = true,
        .open = real_open,
        .close = real_close,
        .read_at = real_read_at,
        .write_at = real_write_at,
        .sync_file = real_sync_file,
        .sync_directory = real_sync_directory,
        .space = real_space,
        .rename = real_rename,
        .unlink = real_unlink,
        .size = real_size,
        .truncate = real_truncate,
        .list = real_list,
        .make_directory = real_make_directory,
    };
    return &real;
}

bool disk_is_passing(int error)
{
    switch (-error) {
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EINTR:
    case EAGAIN: return true;
    default: return false;
    }
}

int disk_write_all(struct disk *disk, int fd, const void *from, size_t n, int64_t offset)
{
    const char *p = from;
    while (n) {
        ssize_t put = disk->write_at(disk, fd, p, n, offset);
        if (put == -EINTR)
            continue;
        if (put < 0)
            return (int)put;
        if (put == 0)
            return -EIO;
        p += put;
        offset += put;
        n -= (size_t)put;
    }
    return 0;
}

int disk_read_all(struct disk *disk, int fd, void *to, size_t n, int64_t offset)
{
    char *p = to;
    while (n) {
        ssize_t got = disk->read_at(disk, fd, p, n, offset);
        if (got == -EINTR)
            continue;
        if (got < 0)
            return (int)got;
        if (got == 0)
            return -ENODATA;
        p += got;
        offset += got;
        n -= (size_t)got;
    }
    return 0;
}

int disk_compare(int fd, const char *path)
{
    struct stat opened, named;
    if (fstat(fd, &opened) != 0 || stat(path, &named) != 0)
        return -errno;
    return opened.st_dev == named.st_dev && opened.st_ino == named.st_ino ? 0 : -ESTALE;
}

int disk_lock(int fd, const char *path)
{
    return flock(fd, LOCK_EX | LOCK_NB) != 0 ? -errno : disk_compare(fd, path);
}

int disk_ensure_directory(struct disk *disk, const char *path)
{
    int made = disk->make_directory(disk, path);
    if (made < 0 && made != -EEXIST)
        return made;
    char *parent = xstrdup(path);
    size_t n = strlen(parent);
    while (n > 1 && parent[n - 1] == '/')
        parent[--n] = '\0';
    char *slash = strrchr(parent, '/');
    if (slash && slash != parent)
        *slash = '\0';
    /* Syncs the parent even if the directory existed already: the process that created it may have
     * been killed before its sync. A parent that this process may not read belongs to somebody
     * else, who created the directory there. */
    int result = disk->sync_directory(disk, !slash ? "." : slash == parent ? "/" : parent);
    free(parent);
    return made == -EEXIST && result == -EACCES ? 0 : result;
}
