/* Histories of everything at once: events, outcomes of tries that were under way for a while,
 * resends, reversals, erasures and changed settings, asked for without waiting for each other, in
 * groups. The oracle does a group one after the other; behind it both stores must be the same in
 * all that can be asked, and what must hold of any store must hold. At the end a store that keeps
 * its journal is built again from the empty database and the journal alone, and is asked the same.
 *
 * Outcomes may overtake what waits (store.h, "Order"), so they are waited for. */
#include "compare.h"
#include "openers.h"
#include "random_items.h"
#include "suite.h"

#include "base/check.h"
#include "domain/clock.h"
#include "memory_store/memory_store.h"

#include <stdlib.h>

#define UNDER_WAY_MOST 64
#define GROUP_MOST 6
#define SETTINGS 4
#define FAR_MS (BASE_MS + 1000 * DAY) /* nothing is due later */

/* A try that has begun: what its outcome will say about the callback. */
struct try_begun {
    struct outcome outcome;
    uint64_t resend_no[2]; /* as the oracle and as the store number them */
};

struct history {
    struct traffic traffic;
    struct subject oracle;
    struct subject *store;
    struct app_terms settings[3][SETTINGS]; /* of each app, one after the other */
    struct try_begun tries[UNDER_WAY_MOST];
    size_t try_count;
    int64_t now_ms;
    bool good;
};

/* A request of a group, and what the store was asked. */
struct asked {
    struct erase erase;
    struct resend resend;
    struct intake_batch *batch;
    char text[40];
    const struct task *done;
};

static uint64_t below(struct history *h, uint64_t bound)
{
    return rng_below(&h->traffic.rng, bound);
}

/* --- settings --------------------------------------------------------------------------------- */

static void make_settings(struct history *h)
{
    static const uint32_t apps[] = {APP_A1, APP_A2, APP_B1};
    for (size_t a = 0; a < ARRAY_LEN(apps); a++) {
        for (int i = 0; i < SETTINGS; i++) {
            struct app_terms *t = &h->settings[a][i];
            *t = *terms_of(apps[a]);
            t->disqualification_cap = 1 + (uint32_t)below(h, 4);
            t->disqualification_reward_micros = (int64_t)below(h, 3) * 250000;
            t->has_url[LANE_OFFER] = below(h, 5) != 0;
            t->has_url[LANE_SUCCESS] = below(h, 5) != 0;
            t->has_url[LANE_TEST] = below(h, 2) != 0;
            t->lane_disabled[LANE_FAILURE] = below(h, 4) == 0;
            t->extended_fields = below(h, 2) != 0;
        }
    }
}

static const struct app_terms *settings_now(struct history *h, const struct app_terms *of)
{
    for (size_t a = 0; a < ARRAY_LEN(h->settings); a++)
        if (h->settings[a][0].app_no == of->app_no)
            return &h->settings[a][below(h, SETTINGS)];
    UNREACHABLE();
}

/* --- what is asked for without waiting ---------------------------------------------------------
 */

/* An offer that waits, of the panelist or of anybody; NULL: there is none. */
static const struct entry *find_offer(struct history *h, struct str panelist_id)
{
    struct memory_store *m = memory_of(h->oracle.store);
    size_t start = m->count ? below(h, m->count) : 0;
    for (size_t i = 0; i < m->count; i++) {
        const struct entry *e = m->entries[(start + i) % m->count];
        if (e->event.type == EVENT_OFFER_COMPLETED && e->life.state == CALLBACK_PENDING &&
            (!panelist_id.p || str_eq(e->event.panelist_id, panelist_id)))
            return e;
    }
    return NULL;
}

static void check_verdicts(struct history *h, const struct intake_batch *got,
                           const struct verdict *want)
{
    h->good &= CHECK_EQ_INT(got->status, STORE_OK);
    for (size_t i = 0; h->good && i < got->count; i++) {
        h->good &= CHECK_EQ_INT(got->verdicts[i].kind, want[i].kind);
        if (want[i].kind == VERDICT_ACCEPTED || want[i].kind == VERDICT_DUPLICATE)
            h->good &= CHECK_EQ_UINT(got->verdicts[i].event_no, want[i].event_no);
    }
}

/* `reversed`: an offer that the first item is to reverse; NULL: none. */
static void ask_submit(struct history *h, struct asked *a, struct verdict *want,
                       const struct entry *reversed)
{
    struct candidate items[TRAFFIC_BATCH_MAX];
    size_t count = 1 + below(h, 6);
    traffic_batch(&h->traffic, items, count, h->now_ms);
    for (size_t i = 0; i < count; i++)
        items[i].terms = settings_now(h, items[i].terms);
    if (reversed) {
        snprintf(a->text, sizeof a->text, "back-%llu", (unsigned long long)below(h, 1000000));
        items[0] = item_of(reversed->event.app_no, EVENT_OFFER_COMPLETION_REVERSED, a->text);
        items[0].terms = settings_now(h, items[0].terms);
        items[0].panelist_id = items[0].offer_title = STR_NONE;
        items[0].offer_id = 0;
        items[0].original_reward_id = reversed->event.event_id;
    }
    a->batch = subject_make_batch(h->store, items, count, h->now_ms);
    a->done = &a->batch->done;
    h->good &= CHECK_EQ_INT(subject_submit(&h->oracle, items, count, h->now_ms, want), STORE_OK);
    store_submit(h->store->store, a->batch);
}

static void ask_erase(struct history *h, struct asked *a, uint32_t account_no)
{
    a->erase = (struct erase){.account_no = account_no, .panelist_id = str_of(a->text)};
    struct erase same = a->erase;
    subject_start_erase(h->store, &a->erase);
    a->done = &a->erase.done;
    subject_ask_erase(&h->oracle, &same);
}

static enum store_status ask_resend(struct history *h, struct asked *a)
{
    traffic_id(&h->traffic, a->text);
    a->resend = (struct resend){
        .account_no = 1 + (uint32_t)below(h, 2), .event_id = str_of(a->text), .now_ms = h->now_ms};
    struct resend same = a->resend;
    subject_start_resend(h->store, &a->resend);
    a->done = &a->resend.done;
    subject_ask_resend(&h->oracle, &same);
    return same.status;
}

/* --- tries that take a while --------------------------------------------------------------------
 */

static void begin_tries(struct history *h)
{
    struct due_page a = {
        .lane = lane_of(traffic_app(&h->traffic), (enum lane_kind)(1 + below(h, LANE_LAST))),
        .due_until_ms = FAR_MS,
        .limit = 1 + (uint32_t)below(h, 12),
    };
    struct due_page b = a;
    subject_page(&h->oracle, &a);
    subject_page(h->store, &b);
    h->good &= CHECK_EQ_UINT(b.count, a.count);
    for (size_t i = 0; h->good && i < a.count && h->try_count < UNDER_WAY_MOST; i++) {
        static const enum callback_state ends[] = {CALLBACK_PENDING, CALLBACK_PENDING,
                                                   CALLBACK_DELIVERED, CALLBACK_DEAD};
        const struct callback *c = a.items[i];
        bool again = false; /* a lane tries a callback once at a time */
        for (size_t k = 0; k < h->try_count; k++)
            again |= h->tries[k].outcome.account_no == c->account_no &&
                     h->tries[k].outcome.event_no == c->event_no;
        h->good &= CHECK_EQ_UINT(b.items[i]->event_no, c->event_no);
        if (again)
            continue;
        struct try_begun *t = &h->tries[h->try_count++];
        t->outcome =
            outcome_of(c->account_no, c->event_no, c->lane, c->app_no, c->attempts_made + 1,
                       c->was_delivered ? CALLBACK_DELIVERED : ends[below(h, 4)],
                       h->now_ms + (int64_t)below(h, 100000));
        t->outcome.place.slot = c->place.slot + 1;
        t->outcome.attempt.manual = c->manual;
        t->resend_no[0] = c->resend_no;
        t->resend_no[1] = b.items[i]->resend_no;
    }
    drop_callbacks(a.items, a.count);
    drop_callbacks(b.items, b.count);
}

/* Of one account: a batch never has outcomes of several. */
static void end_tries_of(struct history *h, uint32_t account_no)
{
    struct outcome of_oracle[UNDER_WAY_MOST], of_store[UNDER_WAY_MOST];
    size_t n = 0, left = 0;
    for (size_t i = 0; i < h->try_count; i++) {
        if (h->tries[i].outcome.account_no != account_no || below(h, 3) == 0) {
            h->tries[left++] = h->tries[i];
            continue;
        }
        of_oracle[n] = of_store[n] = h->tries[i].outcome;
        of_oracle[n].resend_no = h->tries[i].resend_no[0];
        of_store[n++].resend_no = h->tries[i].resend_no[1];
    }
    h->try_count = left;
    if (n == 0)
        return;
    h->good &= CHECK_EQ_INT(subject_record(&h->oracle, of_oracle, n), STORE_OK);
    h->good &= CHECK_EQ_INT(subject_record(h->store, of_store, n), STORE_OK);
}

static void end_tries(struct history *h)
{
    end_tries_of(h, ACCOUNT_A);
    end_tries_of(h, ACCOUNT_B);
}

/* --- one group ---------------------------------------------------------------------------------
 */

static void one_group(struct history *h)
{
    struct asked asked[GROUP_MOST] = {0};
    struct verdict want[GROUP_MOST][TRAFFIC_BATCH_MAX];
    enum store_status resent[GROUP_MOST];
    size_t n = 1 + below(h, GROUP_MOST);
    const struct entry *reversed = NULL;
    for (size_t i = 0; i < n; i++) {
        struct asked *a = &asked[i];
        uint64_t what = below(h, 8);
        if (what == 0) {
            /* Of somebody whose offer waits, so that its reversal comes right behind. */
            const struct entry *offer = below(h, 3) ? find_offer(h, STR_NONE) : NULL;
            uint32_t account_no = offer ? offer->event.account_no : 1 + (uint32_t)below(h, 2);
            if (offer)
                snprintf(a->text, sizeof a->text, "%.*s", STR_ARG(offer->event.panelist_id));
            else
                snprintf(a->text, sizeof a->text, "p%llu", (unsigned long long)below(h, 12));
            ask_erase(h, a, account_no);
            reversed = offer;
            if (below(h, 2) == 0)
                end_tries(h);
        } else if (what == 1) {
            resent[i] = ask_resend(h, a);
        } else {
            if (!reversed && below(h, 4) == 0)
                reversed = find_offer(h, STR_NONE);
            ask_submit(h, a, want[i], reversed);
            reversed = NULL;
        }
    }
    for (size_t i = 0; i < n; i++) {
        subject_wait(h->store, asked[i].done);
        if (asked[i].batch) {
            check_verdicts(h, asked[i].batch, want[i]);
            free_batch(asked[i].batch);
        } else if (asked[i].done == &asked[i].resend.done) {
            h->good &= CHECK_EQ_INT(asked[i].resend.status, resent[i]);
        }
    }
}

/* --- what must hold -----------------------------------------------------------------------------
 */

/* Of the oracle, and so of any store that is the same: nothing is held back whose original is
 * final, and nothing of an erased panelist waits. */
static bool holds(struct memory_store *m)
{
    bool good = true;
    for (size_t i = 0; i < m->count; i++) {
        const struct entry *e = m->entries[i];
        const struct entry *original =
            e->event.original_no ? memory_find_no(m, e->event.account_no, e->event.original_no)
                                 : NULL;
        if (e->life.wait == WAIT_HELD)
            good &= CHECK(original && original->life.state == CALLBACK_PENDING);
        if (e->event.is_erased)
            good &= CHECK(e->life.wait == WAIT_NOT && e->life.state != CALLBACK_PENDING);
        if (e->life.state == CALLBACK_PENDING)
            good &= CHECK(e->life.wait != WAIT_NOT);
    }
    return good;
}

/* Everything that can be asked. */
static bool same(struct history *h, struct subject *store)
{
    static const uint32_t apps[] = {APP_A1, APP_A2, APP_B1};
    struct subject *oracle = &h->oracle;
    bool good = true;
    for (size_t i = 0; good && i < ARRAY_LEN(apps) * LANE_LAST; i++) {
        struct due_page found,
            q = {.lane = lane_of(apps[i / LANE_LAST], (enum lane_kind)(1 + i % LANE_LAST)),
                 .due_until_ms = FAR_MS,
                 .limit = LIMIT_PAGE_CALLBACKS};
        good &= compare_page(oracle, store, &q, &found);
        drop_callbacks(found.items, found.count);
    }
    int32_t today = clock_day(h->now_ms);
    for (uint32_t account_no = 1; good && account_no <= 2; account_no++) {
        struct callback_list list = {.account_no = account_no,
                                     .attempts = ATTEMPTS_ALL,
                                     .order = LIST_OLDEST_FIRST,
                                     .limit = 500};
        struct report_query report = {.account_no = account_no,
                                      .first_day = today - 200,
                                      .last_day = today + 1,
                                      .include_test = true,
                                      .after_day = INT32_MIN,
                                      .limit = 1000};
        good &= compare_list(oracle, store, &list) && compare_report(oracle, store, &report);
        for (int32_t day = today - 3; good && day <= today; day++)
            good &= compare_statement(oracle, store, account_no, day);
    }
    struct books_check all = {.from_day = INT32_MIN, .callbacks_most = INT64_MAX};
    good = good && compare_books(oracle, store, &all);
    for (size_t i = 0; good && i < ARRAY_LEN(apps); i++)
        good &= compare_waiting(oracle, store, apps[i]);
    return good && compare_numbers(oracle, store);
}

static void drop_owed(struct subject *s)
{
    struct callback **owed;
    size_t n = subject_take_owed(s, 0, &owed);
    drop_callbacks(owed, n);
}

/* --- a history ----------------------------------------------------------------------------------
 */

static uint64_t history_seed;
static int history_groups;

static void check_replayed(struct history *h)
{
    struct subject replayed;
    if (!h->store->replay || !h->good)
        return;
    h->store->replay(h->store, &replayed);
    subject_open(&replayed, h->store->env);
    h->good &= same(h, &replayed);
    if (!h->good)
        printf("  built again from the journal\n");
    subject_close(&replayed);
}

static void one_history(void)
{
    struct history *h = calloc(1, sizeof *h);
    ASSERT(h != NULL);
    *h = (struct history){.store = subject_under_test, .now_ms = BASE_MS, .good = true};
    struct test_env oracle_env, store_env;
    test_env_init(&oracle_env, history_seed);
    test_env_init(&store_env, history_seed + 1);
    opener_memory(&h->oracle);
    subject_open(&h->oracle, &oracle_env);
    subject_open(h->store, &store_env);
    if (h->store->keep_empty)
        h->store->keep_empty(h->store);
    rng_seed(&h->traffic.rng, history_seed);
    h->traffic.ids = 40 + (int)below(h, 300);
    make_settings(h);
    int done = 0;
    for (; h->good && done < history_groups; done++) {
        h->now_ms += (int64_t)below(h, 3000);
        begin_tries(h);
        one_group(h);
        if (below(h, 3) == 0)
            end_tries(h);
        drop_owed(&h->oracle);
        drop_owed(h->store);
        h->good = h->good && holds(memory_of(h->oracle.store));
        if (below(h, 4) == 0)
            h->good = h->good && same(h, h->store);
    }
    h->good = h->good && same(h, h->store);
    check_replayed(h);
    if (!h->good)
        printf("seed %llu: group %d\n", (unsigned long long)history_seed, done);
    subject_close(&h->oracle);
    subject_close(h->store);
    free(h);
}

void run_history_tests(uint64_t first_seed, int seeds, int groups)
{
    history_groups = groups;
    for (int i = 0; i < seeds; i++) {
        char name[64];
        history_seed = first_seed + (uint64_t)i;
        snprintf(name, sizeof name, "everything_at_once, seed %llu",
                 (unsigned long long)history_seed);
        check_run(one_history, name);
    }
}
