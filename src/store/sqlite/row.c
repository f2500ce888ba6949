/* Between rows of the event table and struct event. The order of columns is ROW_COLUMNS. */
#include "store/sqlite/row.h"

void row_read(sqlite3_stmt *s, struct row *ret)
{
    int at = 0;
    struct event *e = &ret->event;
    struct callback_status *status = &ret->status;
    *ret = (struct row){.id = (uint64_t)sql_int(s, at++)};
    e->account_no = account_of_id(ret->id);
    e->event_no = event_no_of_id(ret->id);
    e->app_no = (uint32_t)sql_int(s, at++);
    e->client_no = (uint32_t)sql_int(s, at++);
    e->type = (enum event_type)sql_int(s, at++);
    e->lane = (enum lane_kind)sql_int(s, at++);
    e->is_test = sql_int(s, at++) != 0;
    e->reward_decimals = (uint8_t)sql_int(s, at++);
    e->occurred_ms = sql_int(s, at++);
    e->accepted_ms = sql_int(s, at++);
    e->revenue_micros = sql_int(s, at++);
    e->reward_micros = sql_int(s, at++);
    e->offer_id = sql_int(s, at++);
    e->original_no = (uint64_t)sql_int(s, at++);
    e->event_id = sql_str(s, at++);
    e->panelist_id = sql_str(s, at++);
    e->session_id = sql_str(s, at++);
    e->mid = sql_str(s, at++);
    e->offer_title = sql_str(s, at++);
    e->offer_goal_id = sql_str(s, at++);
    e->original_reward_id = sql_str(s, at++);
    e->reason = sql_str(s, at++);
    e->signature_offset = (uint16_t)sql_int(s, at++);
    e->counts_for_cap = sql_int(s, at++) != 0;
    ret->segment = (uint32_t)sql_int(s, at++);
    status->lane = lane_of(e->app_no, e->lane);
    e->state = status->state = (enum callback_state)sql_int(s, at++);
    e->reason_skipped = status->reason = (enum skip_reason)sql_int(s, at++);
    status->queue = (enum queue_kind)sql_int(s, at++);
    status->manual = sql_int(s, at++) != 0;
    status->place.failed_attempts = (int32_t)sql_int(s, at++);
    status->place.slot = (int32_t)sql_int(s, at++);
    status->place.due_ms = sql_int(s, at++);
    status->attempts = (int32_t)sql_int(s, at++);
}

void row_bind(sqlite3_stmt *s, const struct event *e, uint32_t segment,
              const struct callback_status *status, unsigned counted)
{
    int at = 1;
    sql_bind_int(s, at++, (int64_t)event_id_of(e->account_no, e->event_no));
    sql_bind_int(s, at++, e->app_no);
    sql_bind_int(s, at++, e->client_no);
    sql_bind_int(s, at++, e->type);
    sql_bind_int(s, at++, e->lane);
    sql_bind_int(s, at++, e->is_test);
    sql_bind_int(s, at++, e->reward_decimals);
    sql_bind_int(s, at++, e->occurred_ms);
    sql_bind_int(s, at++, e->accepted_ms);
    sql_bind_int(s, at++, e->revenue_micros);
    sql_bind_int(s, at++, e->reward_micros);
    sql_bind_int(s, at++, e->offer_id);
    sql_bind_int(s, at++, (int64_t)e->original_no);
    sql_bind_str(s, at++, e->event_id);
    sql_bind_str(s, at++, e->panelist_id);
    sql_bind_str(s, at++, e->session_id);
    sql_bind_str(s, at++, e->mid);
    sql_bind_str(s, at++, e->offer_title);
    sql_bind_str(s, at++, e->offer_goal_id);
    sql_bind_str(s, at++, e->original_reward_id);
    sql_bind_str(s, at++, e->reason);
    sql_bind_int(s, at++, e->signature_offset);
    sql_bind_int(s, at++, e->counts_for_cap);
    sql_bind_int(s, at++, segment);
    sql_bind_int(s, at++, status->state);
    sql_bind_int(s, at++, status->reason);
    sql_bind_int(s, at++, status->queue);
    sql_bind_int(s, at++, status->manual);
    sql_bind_int(s, at++, status->place.failed_attempts);
    sql_bind_int(s, at++, status->place.slot);
    sql_bind_int(s, at++, status->place.due_ms);
    sql_bind_int(s, at++, status->attempts > 0 ? status->attempts : 0);
    sql_bind_int(s, at++, counted);
}

void event_keep(struct event *e, struct arena *arena)
{
    e->event_id = arena_str(arena, e->event_id);
    e->panelist_id = arena_str(arena, e->panelist_id);
    e->session_id = arena_str(arena, e->session_id);
    e->mid = arena_str(arena, e->mid);
    e->offer_title = arena_str(arena, e->offer_title);
    e->offer_goal_id = arena_str(arena, e->offer_goal_id);
    e->original_reward_id = arena_str(arena, e->original_reward_id);
    e->reason = arena_str(arena, e->reason);
    e->body = arena_str(arena, e->body);
}

void status_read(sqlite3_stmt *s, struct callback_status *ret)
{
    *ret = (struct callback_status){
        .lane = lane_of((uint32_t)sql_int(s, 0), (enum lane_kind)sql_int(s, 1)),
        .state = (enum callback_state)sql_int(s, 2),
        .reason = (enum skip_reason)sql_int(s, 3),
        .queue = (enum queue_kind)sql_int(s, 4),
        .manual = sql_int(s, 5) != 0,
        .place = {.failed_attempts = (int32_t)sql_int(s, 6),
                  .slot = (int32_t)sql_int(s, 7),
                  .due_ms = sql_int(s, 8)},
        .attempts = (int32_t)sql_int(s, 9),
    };
}
