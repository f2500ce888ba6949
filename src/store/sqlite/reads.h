/* The threads that read. */
#pragma once

#include "store/sqlite/sqlite_store.h"

void *reader_main(void *arg); /* arg: a struct reader */
/* True if reads under way must end, because the process does. */
bool reads_are_over(const struct sqlite_store *s);
void reader_configure(struct reader *reader);
/* The next request of a reading thread. A thread that has had none for a while releases its page
 * cache. */
struct request *reader_next(struct sqlite_store *s, struct queue *from, size_t taker, struct sql *q,
                            enum cache which);
static inline void store_note_cache(struct sqlite_store *s, struct sql *q, enum cache which)
{
    atomic_store_explicit(&s->numbers.cache_bytes[which], sql_cache_bytes(q), memory_order_relaxed);
}
