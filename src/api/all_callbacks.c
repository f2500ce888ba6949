/* The callback log of all partners for operators, newest acceptance first.
 *
 * Every key of the store begins with the account, so there is no index over all accounts. At most
 * PARTNERS_MOST partners are read for one answer, ROWS_AT_A_TIME of the newest rows of each, and
 * the rows are merged. If an account has more rows, its list is complete only down to the last row
 * that was read. The newest of these last rows is the horizon. Older rows are not shown, because
 * an account may have a newer row that was not read. If the horizon cuts the answer short, the
 * account that sets it is read further, until ROWS_MOST rows were looked at. So an answer may be
 * shorter than its limit; `Next` continues it, and `NextPartners` continues with further partners.
 *
 * A clock that was put back breaks the order of an account's times (domain/acceptance_times.h).
 * Rows of such a stretch may be missing here; the log of the single partner has them. */
#include "api/all_callbacks.h"

#include "api/callback_filters.h"
#include "api/callback_render.h"
#include "api/internal.h"
#include "api/partner_walk.h"
#include "api/query.h"
#include "api/route.h"
#include "api/slices.h"
#include "base/alloc.h"
#include "services/cursor.h"

#include <stdlib.h>

#define PARTNERS_MOST 200
#define ROWS_AT_A_TIME 50
#define ROWS_MOST 10000

struct found {
    struct log_place place;
    const struct callback_row *row; /* in one of the arenas */
};

struct all_callbacks {
    struct call *c;
    struct partner_walk walk;
    struct log_cursor from;
    struct callback_list asked; /* the filters */
    struct attempt_filter attempt;
    uint32_t limit;
    struct delivery_tried tried;
    struct callback_list list; /* of the account being read */
    struct arena *arenas;      /* of all that was read */
    size_t arena_count, arena_capacity;
    struct found *found; /* newest first, at most `limit` */
    size_t count, capacity;
    struct log_place *unread; /* the last row read, of each account that has more */
    size_t unread_count, unread_capacity;
    size_t looked_at;
    size_t partners, partners_away; /* partners read, and partners whose database is unavailable */
    bool more_partners;
    bool walked;
    size_t shown;
    struct slices slices;
};

/* --- what was found --------------------------------------------------------------------------- */

static int newest_first(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    return log_place_compare(&y->place, &x->place);
}

static struct log_place place_of(const struct callback_list *list, const struct callback_row *row)
{
    return (struct log_place){row->event.accepted_ms, list->account_no, row->event.event_no};
}

static void keep_rows(struct all_callbacks *l)
{
    struct callback_list *list = &l->list;
    for (size_t i = 0; i < list->count; i++) {
        const struct callback_row *row = &list->rows[i];
        if (!attempt_filter_takes(&l->attempt, row))
            continue;
        l->found = xgrow(l->found, &l->capacity, l->count + 1, sizeof *l->found);
        l->found[l->count++] = (struct found){place_of(list, row), row};
    }
    if (l->count > 0)
        qsort(l->found, l->count, sizeof *l->found, newest_first);
    l->count = l->count < l->limit ? l->count : l->limit;
    l->looked_at += list->count;
    if (list->more) {
        l->unread = xgrow(l->unread, &l->unread_capacity, l->unread_count + 1, sizeof *l->unread);
        l->unread[l->unread_count++] = place_of(list, &list->rows[list->count - 1]);
    }
    l->arenas = xgrow(l->arenas, &l->arena_capacity, l->arena_count + 1, sizeof *l->arenas);
    l->arenas[l->arena_count++] = list->arena;
}

/* The newest of the last rows of accounts that have more; NULL: everything was read. */
static struct log_place *horizon(const struct all_callbacks *l)
{
    struct log_place *newest = NULL;
    for (size_t i = 0; i < l->unread_count; i++)
        if (!newest || log_place_compare(newest, &l->unread[i]) < 0)
            newest = &l->unread[i];
    return newest;
}

/* How many of the found rows are newer than every unread row. */
static size_t count_certain(const struct all_callbacks *l)
{
    const struct log_place *end = horizon(l);
    size_t n = l->count;
    while (end && n > 0 && log_place_compare(&l->found[n - 1].place, end) < 0)
        n--;
    return n;
}

/* --- the answer ------------------------------------------------------------------------------- */

static void free_rows(struct all_callbacks *l)
{
    for (size_t i = 0; i < l->arena_count; i++)
        arena_free(&l->arenas[i]);
    free(l->arenas);
    free(l->found);
    free(l->unread);
    free(l->tried.event_nos);
}

static void print_cursor(struct all_callbacks *l, const char *name, const struct log_cursor *cursor)
{
    struct buf text = {0};
    if (cursor)
        log_cursor_print(&text, cursor);
    json_key_string(&l->c->writer, name, cursor ? buf_str(&text) : STR_NONE);
    buf_free(&text);
}

static void print_next(struct all_callbacks *l)
{
    struct log_cursor next = {.before_no = l->from.before_no};
    const struct log_place *end = horizon(l);
    bool full = l->shown == l->limit;
    if (full)
        next.place = l->found[l->shown - 1].place;
    else if (end)
        next.place = *end;
    /* An account that was read when the answer was already full was not asked for older rows. */
    print_cursor(l, "Next", full || end ? &next : NULL);
}

static void end_answer(struct slices *slices, bool more)
{
    struct all_callbacks *l = CONTAINER_OF(slices, struct all_callbacks, slices);
    ASSERT(!more);
    json_end_array(&l->c->writer);
    print_next(l);
    struct log_cursor behind = {l->walk.last_no, {INT64_MAX, UINT32_MAX, UINT64_MAX}};
    print_cursor(l, "NextPartners", l->more_partners ? &behind : NULL);
    json_key_int(&l->c->writer, "PartnersRead", (int64_t)l->partners);
    json_key_int(&l->c->writer, "PartnersAway", (int64_t)l->partners_away);
    free_rows(l);
    call_end_object(l->c, 200);
}

static bool print_rows(struct slices *slices, size_t most)
{
    struct all_callbacks *l = CONTAINER_OF(slices, struct all_callbacks, slices);
    size_t certain = count_certain(l);
    for (size_t i = 0; i < most && l->shown < certain; i++)
        render_callback(l->c, &l->c->writer, l->found[l->shown++].row, SHOW_ITEM);
    return l->shown < certain;
}

static void answer(struct all_callbacks *l)
{
    json_key_array(call_begin_object(l->c), "Items");
    l->slices.executor = call_executor(l->c);
    l->slices.left = LIST_MOST;
    l->slices.print = print_rows;
    l->slices.end = end_answer;
    slices_begin(&l->slices);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void read_done(struct task *task);
static void tried_done(struct task *task);

/* Excludes rows older than all of a full answer. */
static void leave_out_older(struct all_callbacks *l)
{
    if (l->count < l->limit)
        return;
    int64_t oldest_ms = l->found[l->limit - 1].place.accepted_ms;
    if (!l->list.has_from || l->list.accepted_from_ms < oldest_ms)
        l->list.accepted_from_ms = oldest_ms;
    l->list.has_from = true;
}

/* Excludes rows at or after the place in the log. */
static void leave_out_newer(struct callback_list *list, const struct log_place *place)
{
    if (list->account_no == place->account_no)
        list->after_event_no = place->event_no;
    if (place->accepted_ms == INT64_MAX)
        return;
    /* Within a millisecond greater accounts come first: theirs have been shown. */
    int64_t to_ms = place->accepted_ms + (list->account_no <= place->account_no);
    if (!list->has_to || list->accepted_to_ms > to_ms)
        list->accepted_to_ms = to_ms;
    list->has_to = true;
}

/* Reads the account's rows after the place. */
static void read_account(struct all_callbacks *l, uint32_t account_no,
                         const struct log_place *place)
{
    l->list = l->asked;
    l->list.account_no = account_no;
    l->list.limit = ROWS_AT_A_TIME;
    l->list.done.run = read_done;
    l->list.reply_to = call_executor(l->c);
    leave_out_newer(&l->list, place);
    leave_out_older(l);
    free(l->tried.event_nos);
    l->tried = (struct delivery_tried){
        .done.run = tried_done,
        .reply_to = call_executor(l->c),
        .account_no = account_no,
    };
    if (callback_filters_need_tried(l->c, &l->asked))
        delivery_get_tried(l->c->api->options.delivery, &l->tried);
    else
        store_list_callbacks(l->c->api->options.store, &l->list);
}

static void tried_done(struct task *task)
{
    struct all_callbacks *l = CONTAINER_OF(task, struct all_callbacks, tried.done);
    l->list.tried = l->tried.event_nos;
    l->list.tried_count = l->tried.count;
    store_list_callbacks(l->c->api->options.store, &l->list);
}

/* Reads more of the account at the horizon, as long as that makes the answer longer. */
static void read_on(struct all_callbacks *l)
{
    struct log_place *end = horizon(l);
    if (!end || count_certain(l) == l->limit || l->looked_at >= ROWS_MOST || l->c->r->gone) {
        answer(l);
        return;
    }
    struct log_place place = *end;
    *end = l->unread[--l->unread_count];
    read_account(l, place.account_no, &place);
}

static bool is_away(struct all_callbacks *l)
{
    struct store_numbers n;
    store_get_numbers(l->c->api->options.store, &n);
    return l->list.status == STORE_BUSY && n.clusters_away > 0;
}

static void read_failed(struct all_callbacks *l)
{
    enum store_status status = l->list.status;
    arena_free(&l->list.arena);
    free_rows(l);
    if (!l->walked)
        partner_walk_abort(&l->walk);
    call_answer_busy(l->c, status);
}

static void read_done(struct task *task)
{
    struct all_callbacks *l = CONTAINER_OF(task, struct all_callbacks, list.done);
    bool away = l->list.status != STORE_OK && is_away(l);
    if (l->list.status != STORE_OK && !away) {
        read_failed(l);
        return;
    }
    if (away)
        arena_free(&l->list.arena);
    else
        keep_rows(l);
    l->partners_away += away;
    if (l->walked) {
        l->partners -= away;
        read_on(l);
    } else {
        l->partners += !away;
        partner_walk_next(&l->walk);
    }
}

static void read_partner(struct partner_walk *walk)
{
    struct all_callbacks *l = CONTAINER_OF(walk, struct all_callbacks, walk);
    if (!l->from.before_no) /* partners created meanwhile do not shift others */
        l->from.before_no = walk->partner->account_no + 1;
    read_account(l, walk->partner->account_no, &l->from.place);
}

static void walk_end(struct partner_walk *walk, bool more)
{
    struct all_callbacks *l = CONTAINER_OF(walk, struct all_callbacks, walk);
    l->walked = true;
    l->more_partners = more && !l->asked.app_no;
    read_on(l);
}

/* --- the request ------------------------------------------------------------------------------ */

static void parameter_after(struct call *c, struct log_cursor *ret)
{
    struct str after = call_parameter(c, "after");
    *ret = (struct log_cursor){0, {INT64_MAX, UINT32_MAX, UINT64_MAX}};
    if (after.p && !log_cursor_parse(after, ret))
        problem_add(&c->problems, STR("after"), "invalid",
                    "The Next or NextPartners of an earlier answer, as it was "
                    "given.");
}

/* Refuses parameters that only the log of one partner has. */
static void refuse_others(struct call *c)
{
    if (call_parameter(c, "format").p && !str_is(call_parameter(c, "format"), "json"))
        problem_add(&c->problems, STR("format"), "invalid",
                    "The log over all partners is JSON only; for CSV name one "
                    "partner with partnerId.");
    if (query_bool(c, "bodies", false))
        problem_add(&c->problems, STR("bodies"), "invalid",
                    "The log over all partners has no bodies; for bodies name one "
                    "partner with partnerId.");
}

void all_callbacks_list(struct call *c)
{
    struct all_callbacks *l = call_alloc(c, sizeof *l);
    if (!callback_filters_read(c, &l->asked, &l->attempt))
        return;
    l->asked.no_bodies = true;
    l->limit = query_limit(c);
    parameter_after(c, &l->from);
    refuse_others(c);
    if (c->problems.count) {
        call_answer_invalid_query(c);
        return;
    }
    l->c = c;
    l->walk = (struct partner_walk){
        .c = c,
        .last_no = l->asked.app_no ? l->asked.account_no + 1 : l->from.before_no,
        .left = l->asked.app_no ? 1 : PARTNERS_MOST,
        .read = read_partner,
        .end = walk_end,
    };
    partner_walk_begin(&l->walk);
}
