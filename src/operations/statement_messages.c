/* Tells each account once that a month is final (days are closed in store/statement.h): its last
 * day takes no more late events, and no callback accepted until then waits. The account's notice in
 * the store has the last month told. So restarts, other nodes and clock jumps do not repeat a
 * message, and a process that was down when the month closed tells it later. The time is
 * retention's (domain/retention_clock.h): a month told too early, by a clock that is weeks ahead,
 * could not be taken back, and the month skipped by it would never be told.
 *
 * One node checks one account after the other. If several months closed while no node checked,
 * only the last one is told. */
#include "operations/recipient.h"
#include "operations/running.h"

#include "base/limits.h"
#include "domain/clock.h"
#include "domain/retention_clock.h"
#include "store/statement.h"

#include <stdlib.h>

#define LOOK_MS 5000
#define NEXT_MS 20
#define AGAIN_SPACINGS 12 /* an hour: if a callback waited */

static void look_in(struct operations *o, int64_t ms)
{
    if (!o->stopping)
        loop_timer_set(o->loop, &o->statements.timer, loop_mono_ms(o->loop) + ms);
}

static struct operations_event news_of(const struct statement_tour *t)
{
    return (struct operations_event){
        .topic = OPERATIONS_OF_STATEMENT,
        .account_no = t->account_no,
        .state = OPERATIONS_STATEMENT_READY,
        .month = t->month,
    };
}

/* The message about the month before ends first. */
static bool is_news(struct operations *o, const struct operations_event *e)
{
    bool is = false;
    for (int i = 0; i < OPERATIONS_NEWS_CHANNELS; i++) {
        enum operations_channel channel = (enum operations_channel)i;
        const struct notice *n = operations_find(o, e, channel);
        if (n && n->month >= e->month)
            continue;
        if (n && (n->step != NOTICE_IDLE || n->saving)) {
            o->statements.again = true;
            return false;
        }
        is = is || recipient_is_wanted(&o->options, e, channel);
    }
    return is;
}

static void end_account(struct operations *o, bool is_final)
{
    struct statement_tour *t = &o->statements;
    struct operations_event news = news_of(t);
    o->requests--;
    if (is_final)
        operations_take_news(o, &news);
    else
        t->again = true;
    look_in(o, NEXT_MS);
    operations_end_when_quiet(o);
}

static void waiting_known(struct task *task)
{
    struct operations *o = CONTAINER_OF(task, struct operations, statements.waiting.done);
    const struct callback_count *c = &o->statements.waiting;
    free(c->apps);
    end_account(o, c->status == STORE_OK && c->count == 0);
}

static void any_known(struct task *task)
{
    struct operations *o = CONTAINER_OF(task, struct operations, statements.any.done);
    struct statement_tour *t = &o->statements;
    free(t->any.rows);
    if (t->any.status != STORE_OK || t->any.count == 0 || o->stopping) {
        t->again = t->again || t->any.status != STORE_OK;
        o->requests--;
        look_in(o, NEXT_MS);
        operations_end_when_quiet(o);
        return;
    }
    t->waiting = (struct callback_count){
        .done.run = waiting_known,
        .reply_to = loop_executor(o->loop),
        .account_no = t->account_no,
        .states = 1u << CALLBACK_PENDING,
        .accepted_from_ms = t->month * DAY_MS,
        .accepted_to_ms = statement_closes_ms(t->last_day),
    };
    store_count_callbacks(o->options.store, &t->waiting);
}

static void ask(struct operations *o)
{
    struct statement_tour *t = &o->statements;
    t->any = (struct report_query){
        .done.run = any_known,
        .reply_to = loop_executor(o->loop),
        .account_no = t->account_no,
        .first_day = t->month,
        .last_day = t->last_day,
        .after_day = INT32_MIN,
        .limit = 1,
    };
    o->requests++;
    store_report(o->options.store, &t->any);
}

/* False: there are no more accounts. */
static bool find_next(struct operations *o)
{
    struct statement_tour *t = &o->statements;
    struct partner *partner;
    while (directory_list_partners(o->options.directory, t->account_no, &partner, 1)) {
        t->account_no = partner->account_no;
        partner_unref(partner);
        struct operations_event news = news_of(t);
        if (is_news(o, &news))
            return true;
    }
    return false;
}

static void begin(struct statement_tour *t, int32_t open_day)
{
    t->last_day = open_day - 1;
    t->month = clock_month(t->last_day);
    t->account_no = 0;
    t->under_way = true;
    t->again = false;
}

/* The first day of the first month that is still open; 0: not known yet. */
static int32_t find_open_day(struct operations *o)
{
    struct store_numbers n;
    store_get_numbers(o->options.store, &n);
    struct retention_clock clock = {.at_ms = n.retention_clock_ms};
    if (clock.at_ms == 0)
        return 0;
    int64_t now_ms = retention_now_ms(&clock, loop_wall_ms(o->loop));
    return clock_month(clock_day(now_ms) - LIMIT_EVENT_AGE_DAYS);
}

static void look(struct timer *timer)
{
    struct operations *o = CONTAINER_OF(timer, struct operations, statements.timer);
    struct statement_tour *t = &o->statements;
    int64_t now = loop_mono_ms(o->loop);
    int32_t open_day = find_open_day(o);
    if (open_day == 0 || !leases_first(store_leases(o->options.store))) {
        t->under_way = false;
        t->month = 0;
    } else if (t->month != clock_month(open_day - 1) ||
               (!t->under_way && t->again && now >= t->again_mono_ms)) {
        begin(t, open_day);
    }
    if (t->under_way && find_next(o)) {
        ask(o);
        return;
    }
    if (t->under_way)
        t->again_mono_ms = now + AGAIN_SPACINGS * o->options.spacing_ms;
    t->under_way = false;
    look_in(o, LOOK_MS);
}

void statements_start(struct operations *o)
{
    o->statements.timer.fire = look;
    look_in(o, LOOK_MS);
}
