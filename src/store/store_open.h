/* Opens the implementations of the store. On failure NULL, and *ret_why is a sentence
 * (malloc'ed). */
#pragma once

#include "base/env.h"
#include "store/disk.h"
#include "store/store.h"

#define NODE_NAME_BYTES 64

struct sqlite_store_options {
    const char *directory;
    struct disk *disk; /* disk_real(), except for fault injection */
    struct env *env;
    struct store_retention retention;
    /* 0: the defaults. With small values a test sees many segments, groups and so on quickly. */
    size_t journal_segment_bytes, group_bytes, memtable_bytes;
    int checkpoint_pages;
    int64_t scrub_interval_ms; /* then the first pass begins at once */
    /* Events are refused beyond these; 0: the defaults (sqlite/admission.c, base/limits.h). */
    int64_t disk_reserve_bytes, journal_most_bytes, waiting_most;
};
MUST_CHECK struct store *sqlite_store_open(const struct sqlite_store_options *options,
                                           char **ret_why);

/* Pages of a database that the disk has changed since they were written. */
struct damaged_pages {
    int64_t count;
    int64_t first_offset; /* in the file; of the first such page read */
};

/* Copies everything acknowledged in the store of `directory` to the new file `file`, which becomes
 * DIR/postbackd.db of a new, otherwise empty directory. Works from another process, whether or not
 * a daemon runs. Blocks. False: no file is left. *ret_damaged: damaged pages of the store, which
 * are copied as they are. */
MUST_CHECK bool sqlite_store_backup(const char *directory, struct disk *disk, const char *file,
                                    struct damaged_pages *ret_damaged, char **ret_why);

struct postgresql_store_options {
    const char *uri; /* postgresql://..., as libpq reads it */
    struct env *env;
    struct store_retention retention;
    int64_t waiting_most;  /* events are refused beyond this; 0: the default (base/limits.h) */
    const char *node_name; /* the process's name for people; NULL: none */
    /* A replica for reports and the log of callbacks, used while its lag is at most this. */
    const char *replica_uri; /* NULL: there is none */
    int64_t replica_lag_most_ms;
    uint32_t cluster;   /* its number among several, see below; otherwise 0 */
    struct store *home; /* of the first cluster, open; NULL: it is the first or only one */
    /* Of the first cluster: the URIs of the others. Its database is made a new store only if none
     * of them has one. */
    const char *const *others;
    size_t other_count;
};
/* Any number of processes may share a database. Blocks for seconds. */
MUST_CHECK struct store *postgresql_store_open(const struct postgresql_store_options *options,
                                               char **ret_why);

/* Accounts split over several clusters (store/clusters/clusters.h): the first one has accounts and
 * people and must be reachable; the others may be down. The list is the same for every node and
 * start, in the same order; new clusters are added at the end. */
struct clusters_store_options {
    const char *const *uris; /* of the first cluster, then of the others */
    size_t uri_count;
    struct postgresql_store_options each; /* without the URI; the replica is the first cluster's */
};
MUST_CHECK struct store *clusters_store_open(const struct clusters_store_options *options,
                                             char **ret_why);
/* Looks at each cluster, beside daemons or without them, and changes nothing. Blocks for seconds
 * at each that does not answer. */
void postgresql_clusters_look(const char *const *uris, size_t count, struct cluster_state *ret);

/* What `postbackd migrate` reports for each step of a schema, in order. */
struct store_step {
    int version;
    const char *what;
    bool contracts; /* removes what older programs use; false: adds what they ignore */
    bool was_made;
};
typedef void (*store_step_visitor)(void *context, const struct store_step *step);

/* Runs all missing steps, including those that a start leaves out (docs/postgresql-schema.md), or
 * only looks; then visits them. May run beside daemons. Blocks. */
MUST_CHECK bool postgresql_store_migrate(const char *uri, bool only_look, store_step_visitor visit,
                                         void *context, char **ret_why);
/* The schema's version; 0: there is no store yet. Changes nothing. False: only a newer program
 * knows the version, or the store cannot be read. */
MUST_CHECK bool sqlite_store_version(const char *directory, int *ret_version, char **ret_why);
/* Whether a start would take what lies there for its own or for nothing: no database of others, no
 * journal without its database, no copy that has not ended. The rest as below. */
MUST_CHECK bool sqlite_store_check_files(const char *directory, char **ret_why);
/* Whether a start could replay the journal of a store that has a version. Reads as much as the
 * start would, changes nothing; true beside a daemon that runs. False: *ret_why is a malloc'ed
 * sentence with the way out. */
MUST_CHECK bool sqlite_store_check_journal(const char *directory, char **ret_why);
/* The version that this program migrates a store to. */
int sqlite_store_version_known(void);
