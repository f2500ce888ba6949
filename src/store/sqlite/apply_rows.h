/* A step of apply_memtable: event rows, states, due. */
#pragma once

#include "store/sqlite/memtable.h"

struct apply;

/* An entry of the memtable, ordered by id. */
struct apply_row {
    uint64_t id;
    const struct mem_entry *entry;
    const struct event *event; /* NULL: an earlier event */
    bool is_plain, has_body;   /* for new events */
};

void apply_rows(struct apply *a);
