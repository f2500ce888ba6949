/* A callback's change of state, in every table except its own row. */
#include "store/sqlite/apply_moves.h"

#include "domain/clock.h"
#include "store/sqlite/apply.h"
#include "store/sqlite/event_row.h"

struct apply_callback apply_callback_read(sqlite3_stmt *s, uint64_t id)
{
    return (struct apply_callback){
        .id = id,
        .key = {.account_no = account_of_id(id),
                .app_no = (uint32_t)sql_int(s, 0),
                .day = clock_day(sql_int(s, STATUS_OCCURRED_COLUMN)),
                .lane = (enum lane_kind)sql_int(s, 1),
                .is_test = sql_int(s, STATUS_TEST_COLUMN) != 0},
        .type = (enum event_type)sql_int(s, STATUS_TYPE_COLUMN),
        .reward_micros = sql_int(s, STATUS_REWARD_COLUMN),
        .revenue_micros = sql_int(s, STATUS_REVENUE_COLUMN),
        .accepted_ms = sql_int(s, STATUS_ACCEPTED_COLUMN),
        .segment = (uint32_t)sql_int(s, STATUS_SEGMENT_COLUMN),
        .counted = (unsigned)sql_int(s, STATUS_COUNTED_COLUMN),
    };
}

void apply_moved(struct apply *a, const struct apply_callback *c, enum callback_state before,
                 enum callback_state after, unsigned counted)
{
    apply_count(a, before, after, counted & ~c->counted);
    apply_waits(a, c->segment, c->accepted_ms,
                (after == CALLBACK_PENDING) - (before == CALLBACK_PENDING));
    apply_search_move(a, c->id, c->key.app_no, c->type, before, after);
    books_move(&a->ledger.books, &c->key, c->reward_micros, c->revenue_micros, before, after);
}
