/* When the books are checked, and how results are logged. */
#include "services/books_watch.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/log.h"
#include "base/waiter.h"
#include "domain/clock.h"
#include "domain/money.h"
#include "store/books.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define BOOKS_WATCH_MAGIC 0xAD170001u
#define RECENT_EVERY_MS 15000
#define WHOLE_EVERY_MS HOUR_MS
#define CALLBACKS_PER_STEP 20000
#define REST_TIMES 50
#define ROUND_REST_TIMES 20
#define START_DELAY_MS 3000 /* waiting callbacks are sent first */
#define LOG_AGAIN_MS HOUR_MS
#define WRONG_MOST 1000

struct wrong_day {
    uint32_t account_no;
    int32_t day;
    uint64_t logged_hash; /* of the differences logged last */
    int64_t logged_mono_ms;
};

struct books_round {
    bool recent, under_way;
    int64_t began_mono_ms;
    uint32_t account_no;
    int32_t day;
    int64_t begins_mono_ms;
};

struct books_watch {
    uint32_t magic;
    struct env *env;
    struct store *store;
    struct directory *directory;
    struct books_round rounds[2];
    int next_round;
    /* The request under way. */
    struct waiter answered;
    struct books_check check;
    struct books_round *asked;
    int64_t rest_until_mono_ms;
    void (*on_change)(void *context, bool wrong, const char *example);
    void *context;
    int64_t reported_count; /* wrong days, as last reported; -1: not reported yet */
    struct wrong_day *wrong;
    size_t wrong_count, wrong_capacity;
    pthread_mutex_t lock; /* protects the state */
    struct books_state state;
};

struct books_watch *books_watch_new(struct env *env, struct store *store,
                                    struct directory *directory)
{
    struct books_watch *a = xcalloc(1, sizeof *a);
    a->magic = BOOKS_WATCH_MAGIC;
    a->env = env;
    a->store = store;
    a->directory = directory;
    waiter_init(&a->answered);
    a->rounds[0].recent = true;
    a->rest_until_mono_ms = env_mono_ms(env) + START_DELAY_MS;
    a->reported_count = -1;
    ASSERT(pthread_mutex_init(&a->lock, NULL) == 0);
    return a;
}

void books_watch_set_callback(struct books_watch *a,
                              void (*on_change)(void *context, bool wrong, const char *example),
                              void *context)
{
    CHECK_MAGIC(a, BOOKS_WATCH_MAGIC);
    a->on_change = on_change;
    a->context = context;
}

/* --- what it says ------------------------------------------------------------------------------
 */

static void print_difference(struct buf *to, const struct books_difference *d)
{
    buf_printf(to, "%" PRId64 " callbacks, Reward ", d->ledger.count - d->found.count);
    money_print_wide(to, d->ledger.reward_micros - d->found.reward_micros, 2);
    buf_add_c(to, ", RevenueAmount ");
    money_print_wide(to, d->ledger.revenue_micros - d->found.revenue_micros, 2);
}

static void say_difference(struct books_watch *a, const struct books_difference *d)
{
    struct buf difference = {0}, day = {0};
    struct app *app = d->app_no ? directory_app_by_no(a->directory, d->app_no) : NULL;
    print_difference(&difference, d);
    clock_print_day(&day, d->day);
    struct str id = app ? app->id : STR("unknown");
    const char *state = d->rule == BOOKS_RULE_EVENTS && d->state != BOOK_OWED
                            ? callback_state_name(d->state)
                            : "owed";
    log_error("books_wrong", LOG_STR("app", id), LOG_STR("day", buf_str(&day)),
              LOG_C("endpoint", d->lane ? lane_kind_name(d->lane) : "all"),
              LOG_C("test", d->is_test ? "yes" : "no"), LOG_C("rule", books_rule_name(d->rule)),
              LOG_C("state", state), LOG_STR("ledger_less_found", buf_str(&difference)),
              LOG_C("fix", "keep a copy of the store; docs/operators/books.md says how to look"));
    pthread_mutex_lock(&a->lock);
    snprintf(a->state.wrong_example, sizeof a->state.wrong_example,
             "the books of one app on %s do not balance, the log has which: %s", buf_c(&day),
             buf_c(&difference));
    pthread_mutex_unlock(&a->lock);
    app_unref(app);
    buf_free(&difference);
    buf_free(&day);
}

static struct wrong_day *find_wrong(struct books_watch *a, uint32_t account_no, int32_t day)
{
    for (size_t i = 0; i < a->wrong_count; i++)
        if (a->wrong[i].account_no == account_no && a->wrong[i].day == day)
            return &a->wrong[i];
    return NULL;
}

/* The differences of one day, [from, to) of the answer. */
static void judge_day(struct books_watch *a, size_t from, size_t to)
{
    const struct books_difference *d = &a->check.differences[from];
    uint64_t hash = 1;
    for (size_t i = from; i < to; i++) {
        const struct books_difference *at = &a->check.differences[i];
        int64_t parts[] = {(int64_t)hash,
                           at->app_no,
                           (int64_t)at->state * 64 + at->lane * 8 + at->rule * 2 + at->is_test,
                           at->ledger.count - at->found.count,
                           (int64_t)(at->ledger.reward_micros - at->found.reward_micros),
                           (int64_t)(at->ledger.revenue_micros - at->found.revenue_micros)};
        hash = hash_fast(parts, sizeof parts);
    }
    int64_t now = env_mono_ms(a->env);
    struct wrong_day *known = find_wrong(a, d->account_no, d->day);
    if (known && known->logged_hash == hash && now - known->logged_mono_ms < LOG_AGAIN_MS)
        return;
    if (!known) {
        if (a->wrong_count == WRONG_MOST)
            return;
        a->wrong = xgrow(a->wrong, &a->wrong_capacity, a->wrong_count + 1, sizeof *a->wrong);
        known = &a->wrong[a->wrong_count++];
    }
    *known = (struct wrong_day){d->account_no, d->day, hash, now};
    for (size_t i = from; i < to; i++)
        say_difference(a, &a->check.differences[i]);
}

/* A position in the order of the checks. */
static uint64_t place_of(const struct books_watch *a, uint32_t account_no)
{
    directory_read_lock(a->directory);
    const struct partner *p = directory_partner_locked(a->directory, account_no);
    uint64_t cluster = p ? p->cluster : 0;
    directory_unlock(a->directory);
    return cluster << 32 | account_no;
}

static bool was_looked_at(const struct books_watch *a, const struct wrong_day *w)
{
    const struct books_check *c = &a->check;
    if (w->day < c->from_day)
        return false;
    uint64_t place = place_of(a, w->account_no), after = place_of(a, c->after_account_no),
             last = place_of(a, c->last_account_no);
    bool behind = place > after || (place == after && w->day > c->after_day);
    bool until = place < last || (place == last && w->day <= c->last_day);
    return behind && (until || !c->more);
}

static bool is_in_answer(const struct books_check *c, const struct wrong_day *w)
{
    for (size_t i = 0; i < c->difference_count; i++)
        if (c->differences[i].account_no == w->account_no && c->differences[i].day == w->day)
            return true;
    return c->difference_total >
           (int64_t)c->difference_count; /* it may be among the differences left out */
}

static void forget_what_holds(struct books_watch *a)
{
    for (size_t i = a->wrong_count; i > 0; i--) {
        const struct wrong_day *w = &a->wrong[i - 1];
        if (!was_looked_at(a, w) || is_in_answer(&a->check, w))
            continue;
        struct buf day = {0};
        clock_print_day(&day, w->day);
        log_info("books_hold_again", LOG_INT("account", w->account_no),
                 LOG_STR("day", buf_str(&day)));
        buf_free(&day);
        a->wrong[i - 1] = a->wrong[--a->wrong_count];
    }
}

static void judge(struct books_watch *a)
{
    const struct books_check *c = &a->check;
    forget_what_holds(a);
    for (size_t from = 0, to; from < c->difference_count; from = to) {
        for (to = from + 1; to < c->difference_count; to++)
            if (c->differences[to].account_no != c->differences[from].account_no ||
                c->differences[to].day != c->differences[from].day)
                break;
        judge_day(a, from, to);
    }
}

/* --- the pace ----------------------------------------------------------------------------------
 */

/* Reports wrong books at once, and correct ones after a whole round. */
static void tell(struct books_watch *a, bool whole_ended)
{
    int64_t count = (int64_t)a->wrong_count;
    if (!a->on_change || count == a->reported_count ||
        (count == 0 && a->reported_count < 0 && !whole_ended))
        return;
    a->reported_count = count;
    a->on_change(a->context, count > 0, a->state.wrong_example);
}

/* The rest is at least ROUND_REST_TIMES as long as the round: long rounds cost little, too. */
static void end_round(struct books_watch *a, struct books_round *round)
{
    int64_t now = env_mono_ms(a->env);
    int64_t every_ms = round->recent ? RECENT_EVERY_MS : WHOLE_EVERY_MS;
    int64_t rest_ms = (now - round->began_mono_ms) * ROUND_REST_TIMES;
    round->under_way = false;
    round->begins_mono_ms = now + (rest_ms > every_ms ? rest_ms : every_ms);
}

static void end_step(struct books_watch *a)
{
    struct books_check *c = &a->check;
    struct books_round *round = a->asked;
    bool whole_ended = false;
    a->asked = NULL;
    if (c->status == STORE_OK) {
        judge(a);
        round->account_no = c->last_account_no;
        round->day = c->last_day;
        if (!c->more) {
            end_round(a, round);
            whole_ended = !round->recent;
        }
    }
    pthread_mutex_lock(&a->lock);
    a->state.days_checked += c->days;
    a->state.callbacks_checked += c->callbacks;
    a->state.wrong_days = (int64_t)a->wrong_count;
    if (a->wrong_count == 0)
        a->state.wrong_example[0] = '\0';
    if (whole_ended)
        a->state.round_ended_ms = env_wall_ms(a->env);
    pthread_mutex_unlock(&a->lock);
    tell(a, whole_ended);
    free(c->differences);
    c->differences = NULL;
    a->rest_until_mono_ms = env_mono_ms(a->env) + c->took_ms * REST_TIMES;
}

static void ask(struct books_watch *a, struct books_round *round, int64_t now)
{
    if (!round->under_way) {
        round->under_way = true;
        round->account_no = 0;
        round->day = INT32_MIN;
        round->began_mono_ms = now;
    }
    int32_t today = clock_day(env_wall_ms(a->env));
    a->check = (struct books_check){
        .done.run = waiter_wake,
        .reply_to = &a->answered.executor,
        .after_account_no = round->account_no,
        .after_day = round->day,
        .from_day = round->recent ? today - 1 : INT32_MIN,
        .callbacks_most = CALLBACKS_PER_STEP,
    };
    a->asked = round;
    store_check_books(a->store, &a->check);
}

void books_watch_step(struct books_watch *a)
{
    CHECK_MAGIC(a, BOOKS_WATCH_MAGIC);
    if (a->asked) {
        if (waiter_try(&a->answered))
            end_step(a);
        return;
    }
    int64_t now = env_mono_ms(a->env);
    if (now < a->rest_until_mono_ms)
        return;
    for (int i = 0; i < 2; i++) {
        struct books_round *round = &a->rounds[a->next_round];
        a->next_round = 1 - a->next_round;
        if (round->under_way || now >= round->begins_mono_ms) {
            ask(a, round, now);
            return;
        }
    }
}

void books_watch_stop(struct books_watch *a)
{
    CHECK_MAGIC(a, BOOKS_WATCH_MAGIC);
    if (!a->asked)
        return;
    waiter_wait(&a->answered);
    end_step(a);
}

void books_watch_free(struct books_watch *a)
{
    CHECK_MAGIC(a, BOOKS_WATCH_MAGIC);
    ASSERT(!a->asked);
    waiter_free(&a->answered);
    pthread_mutex_destroy(&a->lock);
    free(a->wrong);
    a->magic = 0;
    free(a);
}

void books_watch_get(struct books_watch *a, struct books_state *ret)
{
    CHECK_MAGIC(a, BOOKS_WATCH_MAGIC);
    pthread_mutex_lock(&a->lock);
    *ret = a->state;
    pthread_mutex_unlock(&a->lock);
}
