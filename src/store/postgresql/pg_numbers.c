/* The store's counters. A commit of this daemon is counted before it is acknowledged; changes by
 * other nodes, and commits in doubt, are counted when the keeper next reads the totals from the
 * database.
 *
 * Such a read may include a commit that this daemon is still about to count. If no transaction was
 * under way during the read, the counters take its values. Otherwise a counter that only grows is
 * raised at most to what is certain: it must neither count twice nor go back. */
#include "store/postgresql/pg_numbers.h"

#include "store/postgresql/postgresql_store.h"

static void raise_to(atomic_llong *n, int64_t value)
{
    if (value > atomic_load(n))
        atomic_store(n, value);
}

void pg_numbers_begin(struct pg_numbers *n, int64_t most)
{
    pthread_mutex_lock(&n->mutex);
    n->under_way++;
    n->under_way_most += most;
    n->begun++;
    pthread_mutex_unlock(&n->mutex);
}

void pg_numbers_end(struct pg_numbers *n, int64_t most, const struct pg_counts *added)
{
    pthread_mutex_lock(&n->mutex);
    n->under_way--;
    n->under_way_most -= most;
    if (added) {
        atomic_fetch_add(&n->accepted, added->accepted);
        atomic_fetch_add(&n->pending, added->pending);
        atomic_fetch_add(&n->delivered, added->delivered);
        atomic_fetch_add(&n->dead, added->dead);
    }
    pthread_mutex_unlock(&n->mutex);
}

uint64_t pg_numbers_look(struct pg_numbers *n)
{
    pthread_mutex_lock(&n->mutex);
    uint64_t mark = n->under_way ? 0 : n->begun + 1;
    pthread_mutex_unlock(&n->mutex);
    return mark;
}

void pg_numbers_looked(struct pg_numbers *n, uint64_t mark, const struct pg_counts *seen)
{
    pthread_mutex_lock(&n->mutex);
    bool quiet = mark == n->begun + 1;
    int64_t doubtful = quiet ? 0 : n->under_way_most;
    raise_to(&n->accepted, seen->accepted - doubtful);
    raise_to(&n->delivered, seen->delivered - doubtful);
    raise_to(&n->dead, seen->dead - doubtful);
    atomic_store(&n->pending, seen->pending);
    pthread_mutex_unlock(&n->mutex);
}
