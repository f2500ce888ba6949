/* GET /api/v1/callbacks, /api/v1/rewards and /api/v1/events: the log of callbacks and of events.
 * One callback: callback_one.c.
 *
 * The events of a range of days are read day by day, each day in the order of acceptance. So a
 * range with mostly empty days needs few requests, and a position in it is a day and an event
 * number. */
#include "api/all_callbacks.h"
#include "api/callback_csv.h"
#include "api/callback_filters.h"
#include "api/callback_render.h"
#include "api/caller.h"
#include "api/internal.h"
#include "api/query.h"
#include "api/route.h"
#include "api/slices.h"
#include "domain/negotiate.h"
#include "services/cursor.h"

#include <stdlib.h>

/* Rows that a request reads at most if it filters by class or status, lists the events of one app,
 * or lists a range of days: no store has an index for these. A read of the store counts as
 * LOOKED_AT_LEAST rows at least. So an answer may be shorter than its limit, and its Next
 * continues. */
#define LOOKED_AT_MOST 5000
#define LOOKED_AT_LEAST 50

/* CSV has all matching rows, in pieces of this many. The next rows are read when the client has
 * taken a piece: meanwhile nothing of the store is held, and memory has one piece. */
#define CSV_ROWS_OF_PIECE 200
/* The feed grows while it is read: a file ends with the events accepted until now, by any node,
 * whose clock may be ahead. */
#define CLOCKS_APART_MS 10000

struct callbacks_request {
    struct call *c;
    bool csv;
    bool begun;    /* CSV: the first piece was sent */
    bool no_tried; /* callbacks being tried are not needed */
    struct delivery_tried tried;
    struct callback_list list;
    struct slices slices;
    struct attempt_filter attempt;
    uint32_t only_app_no; /* for events; 0: any */
    bool is_range;        /* list.day, the day being read, goes up to last_day */
    int32_t last_day;
    uint32_t limit, shown;
    size_t at; /* rows of the list handled */
    size_t looked_at;
    struct feed_place last; /* the last row handled */
    bool full;              /* the limit is reached, and there are more */
};

/* True if some of the store's rows may be left out here. */
static bool picks(const struct callbacks_request *l)
{
    return l->attempt.picks || l->only_app_no;
}

static bool is_meant(const struct callbacks_request *l, const struct callback_row *row)
{
    return attempt_filter_takes(&l->attempt, row) &&
           (!l->only_app_no || l->only_app_no == row->event.app_no);
}

static void print_row(struct callbacks_request *l, const struct callback_row *row)
{
    struct json_writer *w = &l->c->writer;
    if (l->list.all_events)
        render_event(l->c, w, row);
    else if (l->list.order == LIST_OLDEST_FIRST)
        render_reward(l->c, w, row, l->list.attempts == ATTEMPTS_ALL);
    else
        render_callback(l->c, w, row, l->list.no_bodies ? SHOW_ITEM : SHOW_ITEM_WITH_BODY);
}

static bool print_rows(struct slices *slices, size_t most)
{
    struct callbacks_request *l = CONTAINER_OF(slices, struct callbacks_request, slices);
    for (size_t i = 0; i < most && l->at < l->list.count; i++) {
        const struct callback_row *row = &l->list.rows[l->at];
        bool meant = is_meant(l, row);
        l->full = meant && l->shown == l->limit;
        if (l->full)
            return false;
        l->at++;
        l->last = (struct feed_place){row->event.event_no, row->event.accepted_ms};
        l->shown += meant;
        if (meant)
            print_row(l, row);
    }
    return l->at < l->list.count;
}

static bool has_next_day(const struct callbacks_request *l)
{
    return l->is_range && l->list.day < l->last_day;
}

/* A feed without an end always has a Next; a list and a range end with null. */
static void print_next(struct callbacks_request *l)
{
    bool endless = l->list.order == LIST_OLDEST_FIRST && !l->is_range;
    bool more = endless || l->full || l->list.more || has_next_day(l);
    struct day_place place = {l->list.day, l->last};
    struct buf next = {0};
    if (l->is_range)
        day_cursor_print(&next, l->c->account_no, &place);
    else
        feed_cursor_print(&next, l->c->account_no, &l->last);
    json_key_string(&l->c->writer, "Next", more ? buf_str(&next) : STR_NONE);
    buf_free(&next);
}

/* True if the next page may be read. A range asks only for the rest of its limit, so it need not
 * know whether there are more. */
static bool may_look_on(const struct callbacks_request *l)
{
    bool is_enough = l->full || (l->is_range && l->shown == l->limit);
    bool has_more = l->list.more ? picks(l) : has_next_day(l);
    return has_more && !is_enough && l->looked_at < LOOKED_AT_MOST && !l->c->r->gone;
}

/* Lets other requests to the store run between two pages. */
static void look_on(struct callbacks_request *l)
{
    arena_free(&l->list.arena);
    l->list.arena = (struct arena){0};
    if (!l->list.more) {
        l->list.day++;
        l->last = (struct feed_place){0};
    }
    l->list.after_event_no = l->last.event_no;
    l->list.after_accepted_ms = 0; /* compared by the first page */
    if (!picks(l))
        l->list.limit = l->limit - l->shown;
    l->at = 0;
    store_list_callbacks(l->c->api->options.store, &l->list);
}

static void list_end(struct slices *slices, bool more)
{
    struct callbacks_request *l = CONTAINER_OF(slices, struct callbacks_request, slices);
    ASSERT(!more);
    l->looked_at += l->list.count > LOOKED_AT_LEAST ? l->list.count : LOOKED_AT_LEAST;
    if (may_look_on(l)) {
        look_on(l);
        return;
    }
    json_end_array(&l->c->writer);
    print_next(l);
    /* l is freed with its call. */
    struct arena arena = l->list.arena;
    uint64_t *tried = l->tried.event_nos;
    call_end_object(l->c, 200);
    arena_free(&arena);
    free(tried);
}

/* --- CSV -------------------------------------------------------------------------------------- */

static void ask(struct callbacks_request *l);

/* True if the caller still has the right, and the daemon is not stopping. */
static bool csv_may_go_on(struct callbacks_request *l)
{
    return l->list.status == STORE_OK && atomic_load(&l->c->api->accepting) && caller_judge(l->c);
}

/* last absent: the rest is not available. */
static void csv_end(struct callbacks_request *l, struct str last)
{
    struct call *c = l->c;
    struct arena arena = l->list.arena;
    uint64_t *tried = l->tried.event_nos;
    if (last.p || c->r->gone)
        call_end_pieces(c, last);
    else
        call_abort_pieces(c);
    arena_free(&arena);
    free(tried);
}

static void csv_drained(struct http_request *r)
{
    struct call *c = r->context;
    CHECK_MAGIC(c, CALL_MAGIC);
    struct callbacks_request *l = c->work;
    if (r->gone)
        csv_end(l, STR_NONE);
    else
        ask(l);
}

static void csv_page_done(struct callbacks_request *l)
{
    struct call *c = l->c;
    struct buf piece = {0};
    enum csv_columns columns = l->list.order == LIST_OLDEST_FIRST ? CSV_REWARDS : CSV_CALLBACKS;
    if (l->begun && (c->r->gone || !csv_may_go_on(l))) {
        csv_end(l, STR_NONE); /* without an end, so that nobody takes it for the whole */
        return;
    }
    if (!l->begun) {
        call_begin_pieces(c, "text/csv; charset=utf-8");
        callback_csv_begin(columns, &piece);
        l->begun = true;
    }
    for (size_t i = 0; i < l->list.count; i++)
        if (is_meant(l, &l->list.rows[i]))
            callback_csv_row(c, columns, &piece, &l->list.rows[i]);
    if (l->list.count > 0)
        l->list.after_event_no = l->list.rows[l->list.count - 1].event.event_no;
    l->list.after_accepted_ms = 0; /* compared by the first page */
    arena_free(&l->list.arena);
    l->list.arena = (struct arena){0};
    bool gone = c->r->gone, more = l->list.more && !gone && c->r->method != HTTP_HEAD;
    if (more)
        call_piece(c, buf_str(&piece), csv_drained);
    else
        csv_end(l, piece.n ? buf_str(&piece) : STR(""));
    buf_free(&piece);
}

/* --- both ------------------------------------------------------------------------------------- */

/* An older backup was restored since the place was given out. */
static bool list_ok(struct callbacks_request *l)
{
    if (l->list.status != STORE_FOREIGN)
        return call_store_ok(l->c, l->list.status);
    problem_add(
        &l->c->problems, STR("after"), "invalid",
        "Another event has this place, because an older backup was restored. Read once from "
        "the beginning, without after; a reward that you know already has the same "
        "RewardId.");
    call_answer_invalid_query(l->c);
    return false;
}

/* {"Items":[...],"Next":...} */
static void list_done(struct task *task)
{
    struct callbacks_request *l = CONTAINER_OF(task, struct callbacks_request, list.done);
    struct arena arena = l->list.arena;
    uint64_t *tried = l->tried.event_nos;
    if (l->begun || (l->csv && l->list.status == STORE_OK)) {
        csv_page_done(l);
        return;
    }
    if (!list_ok(l)) {
        arena_free(&arena);
        free(tried);
        return;
    }
    l->slices.executor = call_executor(l->c);
    l->slices.left = LIST_MOST;
    l->slices.print = print_rows;
    l->slices.end = list_end;
    if (l->c->body.n == 0)
        json_key_array(call_begin_object(l->c), "Items");
    slices_begin(&l->slices);
}

/* Called before the store is asked, because a filter may depend on the callbacks being tried. */
static void list_tried_done(struct task *task)
{
    struct callbacks_request *l = CONTAINER_OF(task, struct callbacks_request, tried.done);
    l->list.tried = l->tried.event_nos;
    l->list.tried_count = l->tried.count;
    store_list_callbacks(l->c->api->options.store, &l->list);
}

/* For the first page, and for each further one of CSV. */
static void ask(struct callbacks_request *l)
{
    free(l->tried.event_nos);
    l->tried = (struct delivery_tried){
        .done.run = list_tried_done,
        .reply_to = call_executor(l->c),
        .account_no = l->c->account_no,
    };
    if (l->no_tried)
        store_list_callbacks(l->c->api->options.store, &l->list);
    else
        delivery_get_tried(l->c->api->options.delivery, &l->tried);
}

/* Reads both days, or neither if they are not needed. */
static void parameter_range(struct call *c, struct callbacks_request *l, bool is_needed)
{
    int32_t last_day = 0;
    bool has_first = call_parameter(c, "startDate").p, has_last = call_parameter(c, "endDate").p;
    if (!has_first && !has_last && !is_needed)
        return;
    if (l->list.of_day)
        problem_add(&c->problems, STR("day"), "invalid", "Either day, or startDate and endDate.");
    if (!query_day(c, "startDate", &l->list.day))
        problem_add(&c->problems, STR("startDate"), "required", "The first day, as YYYY-MM-DD.");
    if (!query_day(c, "endDate", &last_day))
        problem_add(&c->problems, STR("endDate"), "required", "The last day, as YYYY-MM-DD.");
    if (c->problems.count == 0 && last_day < l->list.day)
        problem_add(&c->problems, STR("endDate"), "invalid", "A day not before startDate.");
    l->is_range = l->list.of_day = true;
    l->last_day = last_day;
}

static void parameter_place(struct call *c, struct callbacks_request *l)
{
    struct str text = call_parameter(c, "after");
    struct day_place place;
    if (!text.p || c->problems.count)
        return;
    if (day_cursor_parse(text, c->account_no, &place) && place.day >= l->list.day &&
        place.day <= l->last_day) {
        l->list.day = place.day;
        l->list.after_event_no = place.in_day.event_no;
        l->list.after_accepted_ms = place.in_day.accepted_ms;
    } else {
        problem_add(&c->problems, STR("after"), "invalid",
                    "The Next of an earlier answer about the same range, as it was given.");
    }
}

/* The list and the feed take each other's places: `postbackd listen` begins the feed behind the
 * newest callback, and asks the list for what is before a place in the feed. */
static void parameter_feed_place(struct call *c, struct callbacks_request *l)
{
    struct str text = call_parameter(c, "after");
    struct feed_place place = {0};
    if (text.p && !feed_cursor_parse(text, c->account_no, &place))
        problem_add(&c->problems, STR("after"), "invalid", QUERY_AFTER_DETAIL);
    l->list.after_event_no = place.event_no;
    if (l->list.order == LIST_OLDEST_FIRST)
        l->list.after_accepted_ms = place.accepted_ms;
}

static void parameter_position(struct call *c, struct callbacks_request *l)
{
    l->list.limit = query_limit(c);
    if (l->is_range)
        parameter_place(c, l);
    else
        parameter_feed_place(c, l);
}

static void parameter_format(struct call *c, struct callbacks_request *l)
{
    struct str text = call_parameter(c, "format");
    l->csv = text.p
                 ? str_is(text, "csv")
                 : accept_prefers(http_header_list(c->r, "accept"), "text/csv", "application/json");
    if (text.p && !l->csv && !str_is(text, "json"))
        problem_add(&c->problems, STR("format"), "invalid", "json or csv.");
    if (l->csv && call_parameter(c, "limit").p)
        problem_add(&c->problems, STR("limit"), "invalid",
                    "CSV has all rows that match; leave limit out.");
}

static void start(struct call *c, struct callbacks_request *l)
{
    if (c->problems.count) {
        call_answer_invalid_query(c);
        return;
    }
    l->c = c;
    c->work = l;
    l->limit = l->list.limit;
    if (l->csv)
        l->list.limit = CSV_ROWS_OF_PIECE;
    else if (picks(l))
        l->list.limit = LIST_MOST;
    l->last = (struct feed_place){l->list.after_event_no, l->list.after_accepted_ms};
    l->list.account_no = c->account_no;
    l->list.done.run = list_done;
    l->list.reply_to = call_executor(c);
    l->no_tried = !callback_filters_need_tried(c, &l->list);
    ask(l);
}

void callbacks_list(struct call *c)
{
    if (!c->account_no) {
        all_callbacks_list(c);
        return;
    }
    struct callbacks_request *l = call_alloc(c, sizeof *l);
    if (!callback_filters_read(c, &l->list, &l->attempt))
        return;
    l->list.no_bodies = !query_bool(c, "bodies", true);
    parameter_position(c, l);
    parameter_format(c, l);
    l->list.no_bodies |= l->csv;
    c->holds_secrets = !l->list.no_bodies; /* Sig, and URLs that may contain secrets */
    start(c, l);
}

void rewards_list(struct call *c)
{
    struct callbacks_request *l = call_alloc(c, sizeof *l);
    l->list.order = LIST_OLDEST_FIRST;
    if (!call_parameter_app(c, &l->list.account_no, &l->list.app_no))
        return;
    l->list.of_day = query_day(c, "day", &l->list.day);
    parameter_range(c, l, false);
    parameter_position(c, l);
    parameter_format(c, l);
    if (l->csv && l->is_range)
        problem_add(&c->problems, STR("startDate"), "invalid", "CSV has one day, or all of them.");
    if (query_bool(c, "attempts", false))
        l->list.attempts = ATTEMPTS_ALL;
    if (l->csv && l->list.attempts)
        problem_add(&c->problems, STR("attempts"), "invalid", "CSV has no attempts.");
    l->list.has_to = l->csv;
    l->list.accepted_to_ms = call_now_ms(c) + CLOCKS_APART_MS;
    start(c, l);
}

/* The events of one app are selected here: no store has an index by app that a page could
 * follow. */
void events_list(struct call *c)
{
    struct callbacks_request *l = call_alloc(c, sizeof *l);
    l->list.order = LIST_OLDEST_FIRST;
    l->list.all_events = l->list.no_bodies = true;
    if (!call_parameter_app(c, &l->list.account_no, &l->only_app_no))
        return;
    parameter_range(c, l, true);
    parameter_position(c, l);
    start(c, l);
}
