/* The file operations under all durable data, as a struct, so that tests can put a disk that fails
 * in its place.
 *
 * Each slot does what the system call of its name does; errors are negative errno. A power cut may
 * lose, tear at 512-byte sectors or reorder what was written and not synced; it keeps what was
 * synced: file data by sync_file, names by sync_directory. Any thread.
 *
 * What is done when the disk is full: store/sqlite/admission.c refuses events before it is,
 * store/sqlite/applier.c waits for room. PostgreSQL's disk: store/postgresql/disk_room.h. */
#pragma once

#include "base/check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A folder held open: names below `path` are looked up from its descriptor. So they stay names in
 * that folder when it is moved, and another folder that is put in its place is not touched. */
struct disk_folder {
    const char *path;
    int fd;
};

struct disk {
    /* NULL: all names are looked up by their paths. Set in a copy of disk_real(). */
    const struct disk_folder *folder;
    bool has_folders; /* false: a simulator, whose folders are never moved */
    /* Returns a descriptor >= 0 or -errno. `direct` bypasses the page cache where the file system
     * can (O_DIRECT); then buffers, offsets and lengths are multiples of 4096. */
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
    /* Creates a directory with mode 0700. -EEXIST if it exists. The name is durable only after a
     * sync of the parent directory. */
    int (*make_directory)(struct disk *disk, const char *path);
    /* Returns the bytes that this process may still write and the size of the file system; 0 or
     * -errno. NULL: not known. */
    int (*space)(struct disk *disk, const char *path, int64_t *ret_free, int64_t *ret_total);
    /* The name of the SQLite VFS on the same disk. NULL: SQLite's default VFS with sliced syncs
     * (sqlite/sync_slicing_vfs.h). */
    const char *sqlite_vfs;
};

struct disk *disk_real(void);

/* True if the error (negative errno) is a lack of something, descriptors or memory for example, and
 * says nothing about the disk or the file: the call may succeed later. */
bool disk_is_passing(int error);

/* Repeat the call after short transfers. 0 or -errno; reading past the end of the file is
 * -ENODATA. */
MUST_CHECK int disk_write_all(struct disk *disk, int fd, const void *from, size_t n,
                              int64_t offset);
MUST_CHECK int disk_read_all(struct disk *disk, int fd, void *to, size_t n, int64_t offset);
/* Whether the real path names what is open: 0, -ESTALE: it names another file, or -errno. */
MUST_CHECK int disk_compare(int fd, const char *path);
/* Locks the real file or directory for this process until the descriptor is closed. 0 or -errno;
 * -EWOULDBLOCK: another process holds it; -ESTALE: the path names another file by now, which other
 * processes would lock. */
MUST_CHECK int disk_lock(int fd, const char *path);
/* Creates the directory if it is absent and makes its name durable. 0 or -errno. */
MUST_CHECK int disk_ensure_directory(struct disk *disk, const char *path);
