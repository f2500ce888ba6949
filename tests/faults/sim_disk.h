/*
 * A disk in memory that does to its users what real ones do on a bad day. Behind the same struct
 * as the real one, and, for SQLite's own files, behind a VFS (sim_vfs.h).
 *
 * What was written and not synced is lost at a power cut: all of it, nothing of it, what came
 * after some moment, or any 512-byte sector by itself, whatever the seed says. The same holds for
 * names until their directory is synced. A failed sync leaves what it was asked for readable and
 * marked clean: no later sync brings it to the disk. Directories themselves are durable at once.
 *
 * Any thread.
 */
#pragma once

#include "base/env.h"
#include "store/disk.h"

#include <pthread.h>

#define SIM_SECTOR_BYTES 512u

enum sim_fault { SIM_OPEN, SIM_READ, SIM_WRITE, SIM_SYNC, SIM_FAULTS };

struct sim_disk;

struct sim_disk *sim_disk_new(uint64_t seed);
void sim_disk_free(struct sim_disk *s);
struct disk *sim_disk_of(struct sim_disk *s);

/* Changes (writes, syncs, names) made so far. */
uint64_t sim_disk_changes(struct sim_disk *s);
/* The n-th change from now (from 1) is half done when the power goes; 0: never. From then
 * everything fails with EIO. */
void sim_disk_cut_after(struct sim_disk *s, uint64_t n);
void sim_disk_cut_now(struct sim_disk *s);
bool sim_disk_is_off(struct sim_disk *s);
/* Power again: only what survived is there. Nobody may hold a descriptor from before. */
void sim_disk_restart(struct sim_disk *s);

/* The n-th call of that kind from now (from 1) fails with `error`, once. `in`: a part of the paths
 * whose calls count, a string constant; NULL: all paths. Up to SIM_ORDERS at a time. */
#define SIM_ORDERS 4
void sim_disk_fail(struct sim_disk *s, enum sim_fault fault, const char *in, uint64_t n, int error);
/* Every such call fails until all is forgiven. */
void sim_disk_fail_every(struct sim_disk *s, enum sim_fault fault, const char *in, int error);
/* Once such a call has failed, the n-th change from then is the one that the power goes with. */
void sim_disk_cut_after_failure(struct sim_disk *s, uint64_t n);
/* No call fails, and no power cut is to come. */
void sim_disk_forgive(struct sim_disk *s);
/* Files may not grow beyond this many bytes in all: ENOSPC; 0: no bound. */
void sim_disk_set_capacity(struct sim_disk *s, uint64_t bytes);
/* A disk that says it has synced and has not: what the suites must find out. */
void sim_disk_set_lying(struct sim_disk *s, bool lying);

/* The file's bytes as they are readable now, to be scribbled on; -1: there is none. */
int64_t sim_disk_file_bytes(struct sim_disk *s, const char *path);
void sim_disk_scribble(struct sim_disk *s, const char *path, uint64_t offset, const void *p,
                       size_t n);
