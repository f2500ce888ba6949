/* The disk under everything durable, as a struct, so that a fault-injecting one can stand in.
 *
 * Contract of each slot: as the system call of its name, errors as negative errno. What has been
 * written but not synced may be lost, torn at 512-byte sectors or reordered by a power cut; what
 * was synced (file data by sync_file, names by sync_directory) is kept. Any thread. */
#pragma once

#include "base/check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct disk {
    /* direct: bypass the page cache where the file system can (O_DIRECT); buffers, offsets and
     * lengths are then multiples of 4096. Returns a descriptor >= 0 or -errno. */
    int (*open)(struct disk *disk, const char *path, bool create, bool direct);
    int (*close)(struct disk *disk, int fd);
    ssize_t (*read_at)(struct disk *disk, int fd, void *to, size_t n, int64_t offset);
    ssize_t (*write_at)(struct disk *disk, int fd, const void *from, size_t n, int64_t offset);
    int (*sync_file)(struct disk *disk, int fd); /* fdatasync */
    int (*sync_directory)(struct disk *disk, const char *path);
    int (*rename)(struct disk *disk, const char *from, const char *to);
    int (*unlink)(struct disk *disk, const char *path);
    int64_t (*size)(struct disk *disk, int fd);
    int (*truncate)(struct disk *disk, int fd, int64_t size);
    /* Calls visit with each name in the directory. */
    int (*list)(struct disk *disk, const char *path, void (*visit)(void *context, const char *name),
                void *context);
    /* Mode 0700. -EEXIST where there is one; its name is durable only after the parent directory
     * was synced. */
    int (*make_directory)(struct disk *disk, const char *path);
    /* Free (for this process) and all bytes of the file system under it; 0 or -errno. NULL: not
     * known. */
    int (*space)(struct disk *disk, const char *path, int64_t *ret_free, int64_t *ret_total);
    /* The SQLite VFS over the same disk; NULL: SQLite's default, paced (sqlite/paced.h). */
    const char *sqlite_vfs;
};

struct disk *disk_real(void);

/* Loops over short transfers. 0 or -errno; reading past the end of the file is -ENODATA. */
MUST_CHECK int disk_write_all(struct disk *disk, int fd, const void *from, size_t n,
                              int64_t offset);
MUST_CHECK int disk_read_all(struct disk *disk, int fd, void *to, size_t n, int64_t offset);
/* Makes the directory where it is absent; its name is durable then. 0 or -errno. */
MUST_CHECK int disk_ensure_directory(struct disk *disk, const char *path);
