/* Reads a whole store through its contract: lists with their attempts, reports, due pages. */
#include "state_text.h"

#include "../conformance/world.h"
#include "base/alloc.h"
#include "base/limits.h"

#include <stdio.h>
#include <stdlib.h>

static void add_event(struct buf *to, const struct event *e)
{
    bool erased = str_has_prefix(e->panelist_id, "erased-");
    struct str who = erased ? STR("erased") : e->panelist_id;
    buf_printf(to, " %.*s app %u client %u type %d lane %d test %d at %lld accepted %lld",
               STR_ARG(e->event_id), e->app_no, e->client_no, (int)e->type, (int)e->lane,
               e->is_test, (long long)e->occurred_ms, (long long)e->accepted_ms);
    buf_printf(to, " revenue %lld reward %lld offer %lld original %llu of %.*s body %zu",
               (long long)e->revenue_micros, (long long)e->reward_micros, (long long)e->offer_id,
               (unsigned long long)e->original_no, STR_ARG(who), e->body.n);
    if (!erased)
        buf_printf(to, " %.*s", STR_ARG(e->body));
}

static void add_callback(struct buf *to, const struct callback_get *get)
{
    const struct callback_row *r = &get->row;
    buf_printf(to, "status %d: %llu", (int)get->status, (unsigned long long)r->event.event_no);
    add_event(to, &r->event);
    buf_printf(to, " state %d reason %d next %lld attempts %d", (int)r->state, (int)r->reason,
               (long long)r->next_attempt_ms, r->attempts);
    for (size_t i = 0; i < r->log_count; i++)
        buf_printf(to, " [%d %d %lld %d %d %.*s]", r->log[i].number, r->log[i].manual,
                   (long long)r->log[i].at_ms, r->log[i].status, (int)r->log[i].class,
                   STR_ARG(r->log[i].response_body));
    buf_add_char(to, '\n');
}

/* Each callback with its log, which only get gives. All are asked for before any is waited for:
 * one by one they make half a million turns between threads, and where other work keeps the
 * processors busy each turn is a place at the end of a queue. */
static void add_callbacks(struct subject *s, struct buf *to, uint32_t account_no)
{
    struct callback_list l = {
        .account_no = account_no, .order = LIST_OLDEST_FIRST, .limit = 100000};
    subject_list(s, &l);
    buf_printf(to, "account %u: status %d, %zu callbacks\n", account_no, (int)l.status, l.count);
    struct callback_get *gets = xcalloc(l.count + 1, sizeof *gets);
    for (size_t i = 0; i < l.count; i++) {
        gets[i] =
            (struct callback_get){.account_no = account_no, .event_id = l.rows[i].event.event_id};
        subject_start_get(s, &gets[i]);
    }
    for (size_t i = l.count; i-- > 0;)
        subject_wait(s, &gets[i].done); /* the last comes last: a single wait in the end */
    for (size_t i = 0; i < l.count; i++) {
        add_callback(to, &gets[i]);
        arena_free(&gets[i].arena);
    }
    free(gets);
    arena_free(&l.arena);
}

static void add_report(struct subject *s, struct buf *to, uint32_t account_no, bool include_test)
{
    int32_t today = (int32_t)(BASE_MS / DAY);
    struct report_query q = {.account_no = account_no,
                             .first_day = today - 100,
                             .last_day = today + 1,
                             .include_test = include_test,
                             .after_day = INT32_MIN,
                             .limit = 10000};
    subject_report(s, &q);
    buf_printf(to, "report %u: status %d\n", account_no, (int)q.status);
    for (size_t i = 0; i < q.count; i++) {
        const struct report_row *r = &q.rows[i];
        buf_printf(to, "report %u%s day %d client %u: %lld %lld %lld %lld %lld %lld\n", account_no,
                   include_test ? " with tests" : "", r->day, r->client_no,
                   (long long)r->survey_starts, (long long)r->active_panelists,
                   (long long)r->conversions[0], (long long)r->conversions[1],
                   (long long)r->earnings_micros[0], (long long)r->earnings_micros[1]);
    }
    free(q.rows);
}

static void add_lane(struct subject *s, struct buf *to, lane_no lane)
{
    struct due_page page = {
        .lane = lane, .due_until_ms = BASE_MS + 100 * DAY, .limit = LIMIT_PAGE_CALLBACKS};
    do {
        subject_page(s, &page);
        for (size_t i = 0; i < page.count; i++) {
            const struct callback *c = page.items[i];
            buf_printf(to, "lane %llu: %llu due %lld slot %d failed %d attempts %d %d %d\n",
                       (unsigned long long)lane, (unsigned long long)c->event_no,
                       (long long)c->place.due_ms, c->place.slot, c->place.failed_attempts,
                       c->attempts_made, c->manual, c->was_delivered);
        }
        drop_callbacks(page.items, page.count);
        page.after = page.last;
    } while (page.more);
}

struct objects {
    struct buf lines[64];
    size_t count;
};

static void add_object(void *context, enum object_kind kind, struct str id, struct str document)
{
    struct objects *o = context;
    ASSERT(o->count < ARRAY_LEN(o->lines));
    buf_printf(&o->lines[o->count++], "object %d %.*s %.*s\n", (int)kind, STR_ARG(id),
               STR_ARG(document));
}

static int compare_lines(const void *a, const void *b)
{
    return str_cmp(buf_str(a), buf_str(b));
}

void state_add_objects(struct subject *s, struct buf *to)
{
    struct objects o = {0};
    store_visit_objects(s->store, add_object, &o);
    qsort(o.lines, o.count, sizeof o.lines[0], compare_lines);
    for (size_t i = 0; i < o.count; i++) {
        buf_add_str(to, buf_str(&o.lines[i]));
        buf_free(&o.lines[i]);
    }
}

void state_add(struct subject *s, struct buf *to)
{
    static const uint32_t apps[] = {APP_A1, APP_A2, APP_B1};
    for (uint32_t account_no = 1; account_no <= 2; account_no++) {
        add_report(s, to, account_no, false);
        add_report(s, to, account_no, true);
        add_callbacks(s, to, account_no);
    }
    for (size_t i = 0; i < ARRAY_LEN(apps); i++)
        for (int kind = LANE_SUCCESS; kind < LANE_KINDS; kind++)
            add_lane(s, to, lane_of(apps[i], (enum lane_kind)kind));
    struct store_numbers n;
    store_get_numbers(s->store, &n);
    buf_printf(to, "accepted %lld\n", (long long)n.events_accepted);
}

void state_print_difference(const struct buf *got, const struct buf *want)
{
    struct str a = buf_str(got), b = buf_str(want);
    while (a.n && b.n) {
        struct str x = str_cut(&a, '\n'), y = str_cut(&b, '\n');
        if (str_eq(x, y))
            continue;
        printf("  got  %.*s\n  want %.*s\n", STR_ARG(x), STR_ARG(y));
        return;
    }
    printf("  one of them ends early\n");
}
