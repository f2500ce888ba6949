/* Rows of the event table and struct event. */
#pragma once

#include "store/sqlite/array_vtab.h"
#include "store/sqlite/memtable.h"
#include "store/sqlite/sql.h"

/* The columns that readers select, in the order that row_read expects. */
#define ROW_COLUMNS                                                                                \
    "id,app_no,client_no,type,lane,is_test,reward_decimals,occurred_ms,accepted_after_ms,"         \
    "revenue_micros,reward_micros,offer_id,original_no,event_id,panelist_id,session_id,mid,"       \
    "offer_title,offer_goal_id,original_reward_id,reason_text,signature_offset,cap,"               \
    "segment,state,reason,queue,manual,failed_attempts,slot,due_ms,attempts,"                      \
    "counted"
#define ROW_COUNTED_COLUMN 32
#define ROW_COLUMN_COUNT 33
struct event_row {
    uint64_t id;
    struct event event; /* without key, content and body; with the current state and reason */
    uint32_t segment;
    struct callback_life life;
};

/* The texts borrow from the statement until its next step. */
void row_read(sqlite3_stmt *s, struct event_row *ret);
/* The value of one of ROW_COLUMNS. */
void row_column(sqlite3_context *to, int column, const struct event *e, uint32_t segment,
                const struct callback_life *life, unsigned counted);

/* Only the state, for most look-ups. */
#define STATUS_COLUMNS                                                                             \
    "app_no,lane,state,reason,queue,manual,failed_attempts,slot,due_ms,attempts,segment,"          \
    "accepted_ms,counted,type,client_no,occurred_ms,is_test,reward_micros,revenue_micros"
void status_read(sqlite3_stmt *s, struct callback_life *ret);
#define STATUS_SEGMENT_COLUMN 10
#define STATUS_ACCEPTED_COLUMN 11
#define STATUS_COUNTED_COLUMN 12
#define STATUS_TYPE_COLUMN 13
#define STATUS_CLIENT_COLUMN 14
#define STATUS_OCCURRED_COLUMN 15
#define STATUS_TEST_COLUMN 16
#define STATUS_REWARD_COLUMN 17
#define STATUS_REVENUE_COLUMN 18
#define STATUS_COLUMN_COUNT 19
