/* Sparse bytes and the list of changes that are not durable yet: what one simulated file is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_PAGE_BYTES 4096u

/* Pages that were never written, or only with zeros, take no memory. */
struct sparse {
    char **pages;
    size_t page_count, page_capacity;
    uint64_t bytes;
};

void sparse_write(struct sparse *s, uint64_t offset, const char *p, size_t n); /* p NULL: zeros */
size_t sparse_read(const struct sparse *s, uint64_t offset, char *to, size_t n);
void sparse_truncate(struct sparse *s, uint64_t bytes);
void sparse_copy(struct sparse *to, const struct sparse *from); /* what `to` held is freed */
void sparse_free(struct sparse *s);

/* What processes share about an open SQLite file (sim_vfs.c); gone when the last one closes it. */
struct sim_shared;

/* One change of a file's bytes. `when` orders changes over all files. */
struct sim_change {
    bool is_truncate;
    uint64_t offset; /* truncate: the new length */
    size_t n;
    char *data; /* NULL: zeros */
    uint64_t when;
};

struct sim_file {
    int links;  /* names (readable or durable), descriptors */
    char *path; /* the name that it was made with */
    struct sparse now, durable;
    struct sim_change *changes;
    size_t change_count, change_capacity;
    struct sim_shared *shared; /* of the SQLite VFS: locks and the WAL index; not durable */
};

void sim_file_write(struct sim_file *f, uint64_t offset, const char *p, size_t n, uint64_t when);
void sim_file_truncate(struct sim_file *f, uint64_t bytes, uint64_t when);
/* All changes so far are on the disk. */
void sim_file_settle(struct sim_file *f);
/* They never will be, though they can be read. */
void sim_file_forget(struct sim_file *f);
/* Applies one change to the durable bytes; `keeps` says for each sector whether it arrived. */
void sim_file_arrive(struct sim_file *f, const struct sim_change *c, bool (*keeps)(void *context),
                     void *context);
void sim_file_free(struct sim_file *f);
