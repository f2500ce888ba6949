/* Converts between rows of the event table and struct event. ROW_COLUMNS has the order of the
 * columns. */
#include "store/sqlite/event_row.h"

void row_read(sqlite3_stmt *s, struct event_row *ret)
{
    int at = 0;
    struct event *e = &ret->event;
    struct callback_life *life = &ret->life;
    *ret = (struct event_row){.id = (uint64_t)sql_int(s, at++)};
    e->account_no = account_of_id(ret->id);
    e->event_no = event_no_of_id(ret->id);
    e->app_no = (uint32_t)sql_int(s, at++);
    e->client_no = (uint32_t)sql_int(s, at++);
    e->type = (enum event_type)sql_int(s, at++);
    e->lane = (enum lane_kind)sql_int(s, at++);
    e->is_test = sql_int(s, at++) != 0;
    e->reward_decimals = (uint8_t)sql_int(s, at++);
    e->occurred_ms = sql_int(s, at++);
    e->accepted_ms = e->occurred_ms + sql_int(s, at++);
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
    e->cap = (enum cap_part)sql_int(s, at++);
    ret->segment = (uint32_t)sql_int(s, at++);
    e->is_erased = ret->segment == 0;
    life->lane = lane_of(e->app_no, e->lane);
    e->state = life->state = (enum callback_state)sql_int(s, at++);
    e->reason_skipped = life->reason = (enum callback_reason)sql_int(s, at++);
    life->wait = (enum callback_wait)sql_int(s, at++);
    life->manual = sql_int(s, at++) != 0;
    life->place.failed_attempts = (int32_t)sql_int(s, at++);
    life->place.slot = (int32_t)sql_int(s, at++);
    life->place.due_ms = sql_int(s, at++);
    life->attempts = (int32_t)sql_int(s, at++);
}

void row_column(sqlite3_context *to, int column, const struct event *e, uint32_t segment,
                const struct callback_life *life, unsigned counted)
{
    switch (column) {
    case 0: array_vtab_int(to, (int64_t)event_id_of(e->account_no, e->event_no)); break;
    case 1: array_vtab_int(to, e->app_no); break;
    case 2: array_vtab_int(to, e->client_no); break;
    case 3: array_vtab_int(to, e->type); break;
    case 4: array_vtab_int(to, e->lane); break;
    case 5: array_vtab_int(to, e->is_test); break;
    case 6: array_vtab_int(to, e->reward_decimals); break;
    case 7: array_vtab_int(to, e->occurred_ms); break;
    case 8: array_vtab_int(to, e->accepted_ms - e->occurred_ms); break;
    case 9: array_vtab_int(to, e->revenue_micros); break;
    case 10: array_vtab_int(to, e->reward_micros); break;
    case 11: array_vtab_int(to, e->offer_id); break;
    case 12: array_vtab_int(to, (int64_t)e->original_no); break;
    case 13: array_vtab_str(to, e->event_id); break;
    case 14: array_vtab_str(to, e->panelist_id); break;
    case 15: array_vtab_str(to, e->session_id); break;
    case 16: array_vtab_str(to, e->mid); break;
    case 17: array_vtab_str(to, e->offer_title); break;
    case 18: array_vtab_str(to, e->offer_goal_id); break;
    case 19: array_vtab_str(to, e->original_reward_id); break;
    case 20: array_vtab_str(to, e->reason); break;
    case 21: array_vtab_int(to, e->signature_offset); break;
    case 22: array_vtab_int(to, e->cap); break;
    case 23: array_vtab_int(to, segment); break;
    case 24: array_vtab_int(to, life->state); break;
    case 25: array_vtab_int(to, life->reason); break;
    case 26: array_vtab_int(to, life->wait); break;
    case 27: array_vtab_int(to, life->manual); break;
    case 28: array_vtab_int(to, life->place.failed_attempts); break;
    case 29: array_vtab_int(to, life->place.slot); break;
    case 30: array_vtab_int(to, life->place.due_ms); break;
    case 31: array_vtab_int(to, life->attempts > 0 ? life->attempts : 0); break;
    default: array_vtab_int(to, counted); break;
    }
}

void status_read(sqlite3_stmt *s, struct callback_life *ret)
{
    *ret = (struct callback_life){
        .lane = lane_of((uint32_t)sql_int(s, 0), (enum lane_kind)sql_int(s, 1)),
        .state = (enum callback_state)sql_int(s, 2),
        .reason = (enum callback_reason)sql_int(s, 3),
        .wait = (enum callback_wait)sql_int(s, 4),
        .manual = sql_int(s, 5) != 0,
        .place = {.failed_attempts = (int32_t)sql_int(s, 6),
                  .slot = (int32_t)sql_int(s, 7),
                  .due_ms = sql_int(s, 8)},
        .attempts = (int32_t)sql_int(s, 9),
    };
}
