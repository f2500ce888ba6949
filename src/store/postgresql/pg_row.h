/* Rows of the table `event`: an event and the state of its callback. */
#pragma once

#include "domain/event.h"
#include "domain/schedule.h"
#include "store/counted.h"
#include "store/packed/attempt_texts.h"
#include "store/postgresql/connection.h"
#include "store/postgresql/pg_schema.h"
#include "store/store.h"

/* event.state of most callbacks: presumed delivered, at the first attempt. It is pending as long as
 * `waiting` still has the row of that attempt. So the event's row is written once and presumes
 * delivery, and the outcome only deletes the row of `waiting`. Whoever changes such a callback
 * otherwise, or must be sure of its state until the commit, locks that row of `waiting` as well
 * (fetch_rows). Stored: never change it. */
#define ROW_STATE_PRESUMED -1 // NOLINT(bugprone-macro-parentheses): it is SQL, too
#define ROW_SQL_(number) #number
#define ROW_SQL(number) ROW_SQL_(number)
#define ROW_PRESUMED ROW_SQL(ROW_STATE_PRESUMED)
_Static_assert(CALLBACK_PENDING == 1 && CALLBACK_DELIVERED == 3 && LANE_KINDS == 5,
               "these numbers stand in the SQL below");
/* SQL: the condition that row `w` of `waiting` is that of the event `e` that presumes delivery;
 * whether there is one; and the state of any event `e`. OFFSET 0 keeps the planner from reading all
 * of `waiting` into a hash for a few events. For a whole day's events that is faster:
 * ROW_STATE_OF_MANY. */
#define ROW_FIRST_ATTEMPT                                                                          \
    "w.account_no=e.account_no AND w.lane=e.app_no::bigint*5+e.lane"                               \
    " AND w.due_ms=coalesce(e.due_ms,e.accepted_ms) AND w.event_no=e.event_no"
/* clang-format off */
#define ROW_WAITS "EXISTS(SELECT FROM waiting w WHERE " ROW_FIRST_ATTEMPT " OFFSET 0)"
#define ROW_STATE_IF(waits)                                                                        \
    "(CASE WHEN e.state<>" ROW_PRESUMED " THEN e.state WHEN " waits " THEN 1 ELSE 3 END)"
#define ROW_STATE ROW_STATE_IF(ROW_WAITS)
#define ROW_STATE_OF_MANY                                                                          \
    ROW_STATE_IF("EXISTS(SELECT FROM waiting w WHERE " ROW_FIRST_ATTEMPT ")")
/* SQL: the condition that the callback of event `e` is delivered. The planner estimates it better
 * than a comparison of the state. */
#define ROW_IS_DELIVERED                                                                           \
    "(e.state=3 OR e.state=" ROW_PRESUMED " AND NOT " ROW_WAITS ")"
/* clang-format on */

struct row_callback {
    struct callback_life life;
    unsigned counted;        /* COUNTED_ bits */
    uint64_t resend_last_no; /* of the last resend, answered or not; 0: never resent */
    struct pending_resend resend;
};

struct pg_row {
    struct event event;     /* its texts borrow from what was read; body: see pg_row_keep */
    struct str packed_body; /* as stored, if it was selected */
    struct row_callback callback;
    int32_t period;
    bool erased;
    bool presumed; /* the table has ROW_STATE_PRESUMED */
    bool taken;    /* this transaction has deleted its row of `waiting` */
};

/* The columns that pg_row_read expects, of the table `e` (event); the body comes after them.
 * `state`: SQL, ROW_STATE or what the caller knows better. */
/* clang-format off */
#define ROW_COLUMNS(state)                                                                         \
    "e.account_no,e.event_no,e.period,e.app_no,e.client_no,e.type,e.lane,e.is_test,"               \
    "e.reward_decimals,e.occurred_ms,e.accepted_ms,e.revenue_micros,e.reward_micros,e.offer_id,"   \
    "e.original_no,e.event_id,e.panelist_id,e.session_id,e.mid,e.offer_title,e.offer_goal_id,"     \
    "e.original_reward_id,e.reason_text,e.signature_offset,e.cap,"                                 \
    "e.state=" ROW_PRESUMED "," state                                                              \
    ",e.reason,e.wait,e.manual,e.failed_attempts,e.slot,e.due_ms,e.attempts,e.counted,"            \
    "e.resend_no,e.resend_due_ms,e.erased"
/* clang-format on */
/* The condition that an event `e` is of the account's panelist; the arguments are SQL. Where the
 * panelist is the same, so is the account if the hashes are. The account has no condition of its
 * own, because the planner could read all its events while a partition has no statistics. */
#define ROW_OF_PANELIST(account_no, panelist_id)                                                   \
    PG_PANELIST_HASH("e.panelist_id", "e.account_no")                                              \
    "=" PG_PANELIST_HASH(panelist_id, account_no) " AND e.panelist_id=" panelist_id
/* With the body, from a join with `b`, and without. */
#define ROW_WITH_BODY ROW_COLUMNS(ROW_STATE) ",b.body"
#define ROW_BODY_JOIN                                                                              \
    " LEFT JOIN body b ON b.account_no=e.account_no AND b.event_no=e.event_no AND b.period="
#define ROW_WITHOUT_BODY ROW_COLUMNS(ROW_STATE) ",NULL::bytea"
#define ROW_OF_MANY ROW_COLUMNS(ROW_STATE_OF_MANY) ",NULL::bytea"

void pg_row_read(const PGresult *r, int at, struct pg_row *ret);
/* A row that presumes delivery, whose row of `waiting` this transaction has deleted, as it was
 * before that. */
void pg_row_take(const struct outcome *o, int32_t period, struct pg_row *ret);
/* A row that presumes delivery, whose first attempt has been recorded meanwhile. */
void pg_row_deliver_presumed(struct pg_row *row);
/* Whether a row that presumes delivery says all about the callback, as it is now. */
bool pg_row_may_presume(const struct event *e, const struct row_callback *now);
/* Copies the texts into the arena, the body unpacked. False: it is damaged, so absent, and the log
 * says so, if it has not for a while. */
MUST_CHECK bool pg_row_keep(struct pg_row *row, struct arena *arena);
/* A callback, for the sink or a page; the caller frees it. presumed: its event's row presumes
 * delivery. */
struct callback *pg_callback_new(const struct event *e, const struct callback_life *life,
                                 bool presumed);
struct callback *pg_row_callback(const struct pg_row *row);
/* As lists show it; texts are copied into the arena. */
void pg_row_show(struct pg_row *row, struct arena *arena, struct callback_row *ret);

/* The columns of the table `attempt` as pg_attempt_read expects them. */
#define ATTEMPT_COLUMNS "number,manual,at_ms,duration_ms,status,class,url,detail,texts"
/* From `column` on; texts are copied into the arena. False: packed ones are damaged, so absent, and
 * the log says so, if it has not for a while. */
MUST_CHECK bool pg_attempt_read(const PGresult *r, int at, int column, const struct event *e,
                                struct arena *arena, struct attempt *ret);
/* The types of all columns (arrays.h), and a row of them. */
#define ATTEMPT_TYPES "iliillbiisyyy"
void pg_attempt_put(struct pg_column *columns, const struct event *e, const struct attempt *a,
                    struct attempt_packer *packer);

/* The first columns of a row to write, and their types (arrays.h); returns the next column.
 * presumed: the row presumes delivery, for which pg_row_may_presume must hold. */
#define ROW_USUAL_TYPES "iliiissbsllillttttisl"
#define ROW_USUAL_COLUMNS                                                                          \
    "account_no,event_no,period,app_no,client_no,type,lane,is_test,reward_decimals,occurred_ms,"   \
    "accepted_ms,day,revenue_micros,reward_micros,event_id,panelist_id,session_id,mid,"            \
    "signature_offset,state,due_ms"
#define ROW_FIRST_TYPES ROW_USUAL_TYPES "llttttsss"
#define ROW_FIRST_COLUMNS                                                                          \
    ROW_USUAL_COLUMNS ",offer_id,original_no,offer_title,offer_goal_id,original_reward_id,"        \
                      "reason_text,cap,reason,wait"
struct pg_column *rows_add_first(struct pg_column *c, const struct event *e, int32_t period,
                                 const struct callback_life *life, bool presumed);
/* The column `counted`: NULL if it is what the state says. */
void rows_add_counted(struct pg_column *c, enum callback_state state, unsigned counted);

/* Whether the row of a new event has NULL in all columns behind the usual ones. Most have, and what
 * a statement unnests costs the server by column: so there are two statements. */
bool row_is_usual(const struct event *e, const struct callback_life *life, bool presumed);
/* Adds a new event's row to a table begun by rows_insert_begin. usual: all rows of it are. */
void rows_insert_begin(struct pg_table *t, bool usual);
void rows_insert_add(struct pg_table *t, const struct event *e, int32_t period,
                     const struct callback_life *life, bool presumed, bool usual);
void rows_insert_send(struct pg *pg, const struct pg_table *t, bool usual);
