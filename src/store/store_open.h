/* Opening the implementations. On failure NULL and *ret_why is a sentence (malloc'ed). */
#pragma once

#include "base/env.h"
#include "store/disk.h"
#include "store/store.h"

struct sqlite_store_options {
    const char *directory;
    struct disk *disk; /* disk_real() but for fault injection */
    struct env *env;
    struct store_retention retention;
    /* 0: the defaults. Small ones let a test see many segments, groups and so on in a moment. */
    size_t journal_segment_bytes, group_bytes, memtable_bytes;
    int checkpoint_pages;
    int64_t scrub_interval_ms; /* and the first pass begins at once */
    /* Beyond these, events are refused; 0: the defaults (sqlite/admission.c, base/limits.h). */
    int64_t disk_reserve_bytes, journal_most_bytes, waiting_most;
};
MUST_CHECK struct store *sqlite_store_open(const struct sqlite_store_options *options,
                                           char **ret_why);

/* Pages of a database that the disk has changed since they were written. */
struct damaged_pages {
    int64_t count;
    int64_t first_offset; /* bytes into the file; of the first that was read */
};

/* Writes everything acknowledged in the store of `directory` to the new file `file`, which
 * becomes DIR/postbackd.db of a new, otherwise empty directory. Works from another process,
 * whether or not a daemon runs. Blocking. False: nothing is left of the copy. *ret_damaged: pages
 * of the store that the disk has changed, which the copy has as they are. */
MUST_CHECK bool sqlite_store_backup(const char *directory, struct disk *disk, const char *file,
                                    struct damaged_pages *ret_damaged, char **ret_why);

struct postgresql_store_options {
    const char *uri; /* postgresql://..., as libpq reads it */
    struct env *env;
    struct store_retention retention;
    int64_t waiting_most;  /* beyond, events are refused; 0: the default (base/limits.h) */
    const char *node_name; /* how people know this process; NULL: not at all */
    /* Where reports and the log are read, as long as that has what it must within so long. */
    const char *replica_uri; /* NULL: nowhere else */
    int64_t replica_lag_most_ms;
    uint32_t cluster;                      /* which of several it is, see below; else 0 */
    const struct hash_secret *hash_secret; /* that of the first of them; NULL: its own */
};
/* Any number of processes on one database. Blocking, seconds. */
MUST_CHECK struct store *postgresql_store_open(const struct postgresql_store_options *options,
                                               char **ret_why);

/* Accounts split over several clusters (store/clusters/clusters.h): the first one has accounts and
 * people, and must be there; the others may be away. Everywhere and always the same, in the same
 * order, but for further ones at the end. */
#define CLUSTERS_MOST 16
struct clusters_store_options {
    const char *const *uris; /* from the first on */
    size_t uri_count;
    struct postgresql_store_options each; /* but for its URI; the replica is the first one's */
};
MUST_CHECK struct store *clusters_store_open(const struct clusters_store_options *options,
                                             char **ret_why);

/* What `postbackd migrate` tells of each step of a schema, in order. */
struct store_step {
    int version;
    const char *what;
    bool
        contracts; /* takes away what older programs use; else adds what they do not stumble over */
    bool was_made;
};
typedef void (*store_step_visitor)(void *context, const struct store_step *step);

/* Makes all steps that are missing, those too that a start leaves (docs/postgresql-schema.md), or
 * only looks; then visits them. Beside running daemons. Blocking. */
MUST_CHECK bool postgresql_store_migrate(const char *uri, bool only_look, store_step_visitor visit,
                                         void *context, char **ret_why);
/* The version of the schema, 0 where there is no store yet; nothing is changed. One that only a
 * newer program knows is a failure. */
MUST_CHECK bool sqlite_store_version(const char *directory, int *ret_version, char **ret_why);
/* What this program brings a store to. */
int sqlite_store_version_known(void);
