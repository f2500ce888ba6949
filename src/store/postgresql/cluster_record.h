/* The first cluster's record of which database each further cluster has: a row of its table meta
 * with the id of that database's store. Without it, an empty database in a cluster's place would
 * be made a new store: events that are known would be taken in again, and two nodes whose URIs
 * differ would each work with another database. */
#pragma once

#include "base/check.h"
#include "store/cluster_state.h"
#include "store/postgresql/identity.h"

/* The first cluster, as another one sees it. */
struct cluster_home {
    const char *uri;
    const struct pg_identity *identity;
    /* This cluster's record as it was last read, so that the cluster can be opened again while the
     * first one is away. All 0: none. Of the thread that opens the cluster. */
    struct pg_store_id *record;
};

/* Reads the records of all clusters; those that have none become 0. */
MUST_CHECK bool cluster_records_load(struct pg *home, struct pg_store_id ret[CLUSTERS_MOST]);
/* Whether a database may be that cluster's: it has a store with the recorded id; or nothing is
 * recorded yet. store: what the database has; NULL: it is empty. False: pg->why is a sentence. */
MUST_CHECK bool cluster_record_allows(struct pg *pg, const struct cluster_home *home,
                                      uint32_t cluster, const struct pg_identity *store);
/* Records the cluster's store, unless one is recorded. False: it is another one, or the first
 * cluster cannot be asked; pg->why is a sentence. */
MUST_CHECK bool cluster_record_keep(struct pg *pg, const struct cluster_home *home,
                                    const struct pg_identity *store);
