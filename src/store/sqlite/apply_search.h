/* The sets of the search. */
#pragma once

#include "base/sort.h"
#include "domain/callback_life.h"
#include "store/sqlite/sql.h"

struct apply;

struct apply_search_rows { /* changes of its sets, in order */
    sqlite3_stmt *find, *set, *drop;
    struct sort_item *items;
    size_t count, capacity;
};

void apply_search_prepare(struct apply *a);
void apply_search(struct apply *a); /* after all steps that move callbacks */
/* Moves a callback in the sets of the search; before is CALLBACK_NONE for a new one. */
void apply_search_move(struct apply *a, uint64_t id, uint32_t app_no, enum event_type type,
                       enum callback_state before, enum callback_state after);
