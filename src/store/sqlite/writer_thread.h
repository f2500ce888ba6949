/* The writer's rounds. On its thread. */
#pragma once

#include "store/sqlite/sqlite_store.h"

void *writer_main(void *arg);
bool writer_group_is_full(const struct sqlite_store *s);
/* Posts the answer and frees the request. */
void request_answer(struct sqlite_store *s, struct request *r, enum store_status status);

static inline bool writer_has_failed(const struct sqlite_store *s)
{
    return atomic_load_explicit(&s->store.failed, memory_order_acquire);
}
