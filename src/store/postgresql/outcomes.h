/* Records the outcomes of attempts. */
#pragma once

#include "store/postgresql/postgresql_store.h"

/* An outcome, and the request that it came with. */
struct pg_outcome {
    struct outcome *outcome;
    struct pg_outcomes_asked *asked;
};

struct pg_outcome_slice {
    const struct pg_outcome *items;
    size_t count;
    bool was_tried; /* an earlier try may have recorded it, or failed because of what is there */
};

enum pg_fate pg_record(struct postgresql_store *s, struct pg *pg, void *outcome_slice);
