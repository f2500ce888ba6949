/* How many callbacks wait, by segment and time of acceptance. */
#pragma once

#include "store/sqlite/sql.h"

struct apply;

struct apply_waits {
    uint32_t segment;
    int64_t accepted_ms;
    int by;
};

struct apply_waiting_rows { /* changes of the number of waiting callbacks */
    sqlite3_stmt *add, *drop;
    struct apply_waits *items;
    size_t count, capacity;
};

void apply_waiting_counts(struct apply *a); /* after all steps that move callbacks */
/* Adds to the number of waiting callbacks with this segment and time of acceptance. */
void apply_waits(struct apply *a, uint32_t segment, int64_t accepted_ms, int by);
/* When the oldest waiting callback was accepted; `otherwise` if none waits. */
int64_t apply_waiting_oldest_ms(struct apply *a, int64_t otherwise);
