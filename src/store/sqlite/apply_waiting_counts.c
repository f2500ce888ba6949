/* Counts waiting callbacks by segment and time of acceptance, in the table `waiting`. The counts
 * give the time of the oldest waiting callback. They also keep a segment's bodies until none of its
 * callbacks waits. Many events are accepted in the same millisecond, so a count costs less than an
 * index entry for each event. */
#include "store/sqlite/apply_waiting_counts.h"

#include "base/alloc.h"
#include "store/sqlite/apply.h"

#include <stdlib.h>

void apply_waits(struct apply *a, uint32_t segment, int64_t accepted_ms, int by)
{
    if (by == 0)
        return;
    if (a->waiting.count > 0) {
        struct apply_waits *last = &a->waiting.items[a->waiting.count - 1];
        if (last->segment == segment && last->accepted_ms == accepted_ms) {
            last->by += by;
            return;
        }
    }
    *ARRAY_PUSH(a->waiting.items, a->waiting.count, a->waiting.capacity) =
        (struct apply_waits){segment, accepted_ms, by};
}

static int by_place(const void *x, const void *y)
{
    const struct apply_waits *a = x, *b = y;
    if (a->segment != b->segment)
        return a->segment < b->segment ? -1 : 1;
    return (a->accepted_ms > b->accepted_ms) - (a->accepted_ms < b->accepted_ms);
}

static void add(struct apply *a, const struct apply_waits *w)
{
    sqlite3_stmt *s = a->waiting.add;
    sql_bind_int(s, 1, w->segment);
    sql_bind_int(s, 2, w->accepted_ms);
    sql_bind_int(s, 3, w->by);
    sql_run(&a->sql, s);
    if (w->by > 0)
        return;
    sql_bind_int(a->waiting.drop, 1, w->segment);
    sql_bind_int(a->waiting.drop, 2, w->accepted_ms);
    sql_run(&a->sql, a->waiting.drop);
}

void apply_waiting_counts(struct apply *a)
{
    if (a->waiting.count > 0)
        qsort(a->waiting.items, a->waiting.count, sizeof *a->waiting.items, by_place);
    for (size_t i = 0; i < a->waiting.count;) {
        struct apply_waits sum = a->waiting.items[i];
        for (i++; i < a->waiting.count && by_place(&a->waiting.items[i], &sum) == 0; i++)
            sum.by += a->waiting.items[i].by;
        if (sum.by != 0)
            add(a, &sum);
    }
    a->waiting.count = 0;
}

int64_t apply_waiting_oldest_ms(struct apply *a, int64_t otherwise)
{
    return sql_get_int(&a->sql,
                       "SELECT min((SELECT accepted_ms FROM waiting WHERE segment=no"
                       " ORDER BY accepted_ms LIMIT 1)) FROM segment",
                       otherwise);
}
