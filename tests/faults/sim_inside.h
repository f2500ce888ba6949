/* What sim_disk.c and sim_vfs.c share. */
#pragma once

#include "sim_disk.h"
#include "sim_file.h"

#define SIM_FIRST_FD 100000 /* nothing a real descriptor could be */

struct sim_name {
    char *path;
    struct sim_file *file;
};

struct sim_names {
    struct sim_name *items;
    size_t count, capacity;
};

struct sim_name_change {
    char *from, *to;
    struct sim_file *file;
    uint64_t when;
};

struct sim_order {
    enum sim_fault fault;
    const char *in;
    uint64_t countdown; /* 0: none, or it has failed */
    int error;
    bool every; /* call fails from then on */
};

#define SIM_DISK_MAGIC 0x51D15C00u
struct sim_disk {
    uint32_t magic;
    struct disk disk;
    pthread_mutex_t lock;
    struct rng rng;
    struct sim_names now, durable;
    struct sim_name_change *name_changes;
    size_t name_change_count, name_change_capacity;
    struct sim_file **fds;
    size_t fd_count, fd_capacity;
    uint64_t changes, cut_countdown, cut_after_failure, capacity;
    struct sim_order orders[SIM_ORDERS];
    bool off, lying;
    struct sim_vfs *vfs;
};

struct sim_disk *sim_of(struct disk *disk);
/* With the lock held. */
struct sim_file *sim_find(struct sim_disk *s, const char *path);
void sim_unlink_file(struct sim_file *f);

/* The slots, for the VFS. */
int sim_open(struct disk *disk, const char *path, bool create, bool direct);
int sim_close(struct disk *disk, int fd);
ssize_t sim_read_at(struct disk *disk, int fd, void *to, size_t n, int64_t offset);
ssize_t sim_write_at(struct disk *disk, int fd, const void *from, size_t n, int64_t offset);
int sim_sync_file(struct disk *disk, int fd);
int sim_sync_directory(struct disk *disk, const char *path);
int sim_unlink(struct disk *disk, const char *path);
int64_t sim_size(struct disk *disk, int fd);
int sim_truncate(struct disk *disk, int fd, int64_t size);
