/* No key of thousands is forgotten: not by the filter of the running daemon, not by the one that a
 * start fills again from the runs, not by the one that is stored when a segment is closed. A key
 * that a filter misses is taken for a new one, and its event is paid twice. */
#include "sqlite_store.h"

#include "sqlite_sql.h"

#include "store/sqlite/filter.h"

#define EVENTS 4000
#define BATCH 500

static char names[EVENTS][16];

/* How many of [from, to) have the verdict. */
static size_t submit_some(size_t from, size_t to, int64_t received_ms, enum verdict_kind kind)
{
    static struct candidate items[BATCH];
    size_t found = 0;
    for (size_t at = from; at < to; at += BATCH) {
        size_t count = to - at < BATCH ? to - at : BATCH;
        for (size_t i = 0; i < count; i++) {
            snprintf(names[at + i], sizeof names[at + i], "e-%zu", at + i);
            items[i] = make(EVENT_SURVEY_COMPLETED, names[at + i], "ann");
        }
        struct intake_batch batch = {.items = items, .count = count, .received_ms = received_ms};
        ASK(store_submit, store, &batch);
        CHECK_EQ_INT(batch.status, STORE_OK);
        for (size_t i = 0; i < count; i++)
            found += batch.verdicts[i].kind == kind;
        arena_free(&batch.arena);
        sink_clear();
    }
    return found;
}

/* A read waits until everything before it is in SQLite. */
static void apply(void)
{
    struct callback_get g = get("none");
    CHECK_EQ_INT(g.status, STORE_NOT_FOUND);
    arena_free(&g.arena);
}

static void every_key_is_known(void)
{
    begin();
    CHECK_EQ_UINT(submit_some(0, EVENTS, NOW_MS, VERDICT_ACCEPTED), EVENTS);
    CHECK_EQ_UINT(submit_some(0, EVENTS, NOW_MS, VERDICT_DUPLICATE), EVENTS); /* in memory */
    apply();
    CHECK_EQ_UINT(submit_some(0, EVENTS, NOW_MS, VERDICT_DUPLICATE), EVENTS); /* in SQLite */
    reopen();
    CHECK_EQ_UINT(submit_some(0, EVENTS, NOW_MS, VERDICT_DUPLICATE), EVENTS); /* filled again */
    end();
}

static void every_key_of_a_closed_segment_is_known(void)
{
    begin();
    int64_t later_ms = NOW_MS + 31 * DAY_MS;
    CHECK_EQ_UINT(submit_some(0, EVENTS - 1, NOW_MS, VERDICT_ACCEPTED), EVENTS - 1);
    apply();
    CHECK_EQ_UINT(submit_some(EVENTS - 1, EVENTS, later_ms, VERDICT_ACCEPTED), 1);
    apply();
    reopen();
    CHECK_EQ_UINT(submit_some(0, EVENTS, later_ms, VERDICT_DUPLICATE), EVENTS);
    store_close(store);
    store = NULL;
    CHECK_EQ_INT(sql_number("SELECT count(*) FROM segment WHERE length(filter)>0"), 1);
    reopen();
    end();
}

static void a_filter_forgets_nothing(void)
{
    struct filter f;
    struct rng rng;
    size_t keys = 100000, unknown = 0, others = 0;
    filter_init(&f, keys);
    rng_seed(&rng, 1);
    for (size_t i = 0; i < keys; i++)
        filter_add(&f, (struct key128){rng_next(&rng), rng_next(&rng)});
    rng_seed(&rng, 1);
    for (size_t i = 0; i < keys; i++) {
        uint64_t hi = rng_next(&rng), lo = rng_next(&rng);
        unknown += !filter_may_have(&f, (struct key128){hi, lo});
        others += filter_may_have(&f, (struct key128){~hi, ~lo});
    }
    CHECK_EQ_UINT(unknown, 0);
    CHECK(others < keys / 2000); /* 24 bits a key: about 1 in 6,000 */
    filter_free(&f);
}

int main(void)
{
    RUN(a_filter_forgets_nothing);
    RUN(every_key_is_known);
    RUN(every_key_of_a_closed_segment_is_known);
    return check_done("sqlite_keys");
}
