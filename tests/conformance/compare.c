/* Compares what two stores answer, member by member, so that a difference names itself. */
#include "compare.h"

#include "base/check.h"
#include "check.h"
#include "world.h"

#include <stdlib.h>

/* Compares a member of two structs, naming it where it differs. */
#define SAME_INT(member) (good &= CHECK_EQ_INT((intmax_t)b->member, (intmax_t)a->member))
#define SAME_STR(member) (good &= same_text(a->member, b->member, #member))

static bool same_text(struct str a, struct str b, const char *what)
{
    if (CHECK(str_eq(a, b)))
        return true;
    printf("  %s: \"%.*s\", want \"%.*s\"\n", what, STR_ARG(b), STR_ARG(a));
    return false;
}

/* Each store makes up a name of its own for whom it erases, of the same length. */
static bool is_erased(struct str panelist_id)
{
    return str_has_prefix(panelist_id, "erased-");
}

static bool compare_event(const struct event *a, const struct event *b)
{
    bool good = true;
    SAME_INT(account_no);
    SAME_INT(app_no);
    SAME_INT(client_no);
    SAME_INT(event_no);
    SAME_INT(type);
    SAME_INT(lane);
    SAME_INT(is_test);
    SAME_INT(reward_decimals);
    SAME_INT(occurred_ms);
    SAME_INT(accepted_ms);
    SAME_INT(revenue_micros);
    SAME_INT(reward_micros);
    SAME_INT(offer_id);
    SAME_INT(original_no);
    SAME_INT(cap);
    SAME_STR(event_id);
    bool erased = is_erased(a->panelist_id) && is_erased(b->panelist_id);
    if (!erased)
        SAME_STR(panelist_id);
    SAME_STR(session_id);
    SAME_STR(mid);
    SAME_STR(offer_title);
    SAME_STR(offer_goal_id);
    SAME_STR(original_reward_id);
    SAME_STR(reason);
    if (erased) /* a reversal made later carries the replacement */
        SAME_INT(body.n);
    else
        SAME_STR(body);
    SAME_INT(signature_offset);
    return good;
}

static bool compare_attempt(const struct attempt *a, const struct attempt *b)
{
    bool good = true;
    SAME_INT(number);
    SAME_INT(manual);
    SAME_INT(at_ms);
    SAME_INT(duration_ms);
    SAME_INT(status);
    SAME_INT(class);
    SAME_STR(url);
    SAME_STR(detail);
    SAME_STR(request_headers);
    SAME_STR(response_headers);
    SAME_STR(response_body);
    return good;
}

bool compare_row(const struct callback_row *a, const struct callback_row *b)
{
    bool good = compare_event(&a->event, &b->event);
    SAME_INT(state);
    SAME_INT(reason);
    SAME_INT(next_attempt_ms);
    SAME_INT(attempts);
    SAME_INT(log_count);
    for (size_t i = 0; good && i < a->log_count; i++)
        good = compare_attempt(&a->log[i], &b->log[i]);
    return good;
}

bool compare_get(struct subject *a, struct subject *b, uint32_t account_no, const char *event_id)
{
    struct callback_get x = {.account_no = account_no, .event_id = str_of(event_id)}, y = x;
    subject_get(a, &x);
    subject_get(b, &y);
    bool good = CHECK_EQ_INT(y.status, x.status);
    if (good && x.status == STORE_OK)
        good = compare_row(&x.row, &y.row);
    if (!good)
        printf("  callback %s of account %u\n", event_id, account_no);
    arena_free(&x.arena);
    arena_free(&y.arena);
    return good;
}

bool compare_list(struct subject *first, struct subject *second, const struct callback_list *query)
{
    struct callback_list x = *query, y = *query, *a = &x, *b = &y;
    subject_list(first, a);
    subject_list(second, b);
    bool good = true;
    SAME_INT(status);
    SAME_INT(count);
    SAME_INT(more);
    for (size_t i = 0; good && i < a->count; i++)
        good = compare_row(&a->rows[i], &b->rows[i]);
    if (!good)
        printf("  list: account %u panelist %.*s type %d state %d app %u order %d after %llu "
               "limit %u\n",
               query->account_no, STR_ARG(query->panelist_id), (int)query->type, (int)query->state,
               query->app_no, (int)query->order, (unsigned long long)query->after_event_no,
               query->limit);
    arena_free(&a->arena);
    arena_free(&b->arena);
    return good;
}

bool compare_report(struct subject *first, struct subject *second, const struct report_query *query)
{
    struct report_query x = *query, y = *query, *a = &x, *b = &y;
    subject_report(first, a);
    subject_report(second, b);
    bool good = true;
    SAME_INT(status);
    SAME_INT(count);
    SAME_INT(more);
    for (size_t i = 0; good && i < a->count; i++) {
        SAME_INT(rows[i].day);
        SAME_INT(rows[i].client_no);
        SAME_INT(rows[i].survey_starts);
        SAME_INT(rows[i].survey_outcomes);
        SAME_INT(rows[i].active_panelists);
        SAME_INT(rows[i].conversions[0]);
        SAME_INT(rows[i].conversions[1]);
        SAME_INT(rows[i].earnings_micros[0]);
        SAME_INT(rows[i].earnings_micros[1]);
    }
    if (!good)
        printf("  report: account %u days %d..%d tests %d clients %zu after %d/%u limit %zu\n",
               query->account_no, query->first_day, query->last_day, query->include_test,
               query->client_count, query->after_day, query->after_client_no, query->limit);
    free(a->rows);
    free(b->rows);
    return good;
}

bool compare_intraday(struct subject *first, struct subject *second, uint32_t account_no,
                      int32_t day)
{
    struct intraday_query x = {.account_no = account_no, .day = day}, y = x, *a = &x, *b = &y;
    subject_intraday(first, a);
    subject_intraday(second, b);
    bool good = true;
    SAME_INT(status);
    for (int i = 0; good && i < INTRADAY_SLOTS; i++) {
        SAME_INT(slots[i].survey_starts);
        SAME_INT(slots[i].conversions);
        SAME_INT(slots[i].active_panelists);
        SAME_INT(slots[i].earnings_micros);
    }
    if (!good)
        printf("  intraday: account %u day %d\n", account_no, day);
    return good;
}

bool compare_delivery_stats(struct subject *first, struct subject *second, uint32_t account_no,
                            uint32_t app_no, enum lane_kind lane, int64_t now_ms)
{
    struct delivery_stats_query x = {.account_no = account_no,
                                     .app_no = app_no,
                                     .lane = lane,
                                     .step_ms = DAY / 4,
                                     .from_ms = (now_ms / (DAY / 4) - 27) * (DAY / 4),
                                     .count = 28};
    struct delivery_stats_query y = x, *a = &x, *b = &y;
    subject_delivery_stats(first, a);
    subject_delivery_stats(second, b);
    bool good = true;
    SAME_INT(status);
    for (size_t i = 0; good && i < x.count; i++) {
        for (size_t k = 0; k < ATTEMPT_CLASSES; k++)
            SAME_INT(points[i].classes[k]);
        for (size_t k = 0; k < LATENCY_BUCKETS; k++)
            SAME_INT(points[i].latencies[k]);
    }
    if (!good)
        printf("  delivery stats: account %u app %u lane %d\n", account_no, app_no, lane);
    return good;
}

bool compare_statement(struct subject *first, struct subject *second, uint32_t account_no,
                       int32_t day)
{
    struct statement_query x = {.account_no = account_no, .day = day}, y = x, *a = &x, *b = &y;
    subject_statement(first, a);
    subject_statement(second, b);
    bool good = true;
    SAME_INT(status);
    SAME_INT(count);
    for (size_t i = 0; good && i < a->count; i++) {
        SAME_INT(apps[i].app_no);
        SAME_INT(apps[i].reward_digits);
        good &= CHECK(memcmp(a->apps[i].digest, b->apps[i].digest, STATEMENT_DIGEST_BYTES) == 0);
        for (int t = 0; t <= EVENT_TYPE_LAST; t++) {
            for (int c = 0; c <= CALLBACK_SKIPPED; c++) {
                SAME_INT(apps[i].sums[t][c].count);
                SAME_INT(apps[i].sums[t][c].reward_micros);
                SAME_INT(apps[i].sums[t][c].revenue_micros);
            }
        }
    }
    if (!good)
        printf("  statement: account %u day %d\n", account_no, day);
    free(a->apps);
    free(b->apps);
    return good;
}

bool compare_count(struct subject *first, struct subject *second,
                   const struct callback_count *query)
{
    struct callback_count x = *query, y = *query, *a = &x, *b = &y;
    subject_count(first, a);
    subject_count(second, b);
    bool good = true;
    SAME_INT(status);
    SAME_INT(count);
    for (size_t i = 0; good && i < a->count; i++) {
        SAME_INT(apps[i].app_no);
        SAME_INT(apps[i].count);
    }
    if (!good)
        printf("  count: account %u app %u states %x\n", query->account_no, query->app_no,
               query->states);
    free(a->apps);
    free(b->apps);
    return good;
}

static bool books_hold(const struct books_check *check, const char *whose)
{
    if (CHECK_EQ_INT(check->difference_total, 0))
        return true;
    for (size_t i = 0; i < check->difference_count; i++) {
        const struct books_difference *d = &check->differences[i];
        printf(
            "  %s: account %u app %u day %d lane %d test %d state %d rule %d: %lld, found %lld\n",
            whose, d->account_no, d->app_no, d->day, d->lane, d->is_test, d->state, d->rule,
            (long long)d->ledger.count, (long long)d->found.count);
    }
    return false;
}

bool compare_books(struct subject *first, struct subject *second, const struct books_check *check)
{
    struct books_check x = *check, y = *check, *a = &x, *b = &y;
    subject_check_books(first, a);
    subject_check_books(second, b);
    bool good = books_hold(a, first->name) && books_hold(b, second->name);
    SAME_INT(status);
    SAME_INT(days);
    SAME_INT(callbacks);
    SAME_INT(more);
    SAME_INT(last_account_no);
    SAME_INT(last_day);
    free(a->differences);
    free(b->differences);
    return good;
}

bool compare_waiting(struct subject *first, struct subject *second, uint32_t app_no)
{
    uint32_t account_no = terms_of(app_no)->account_no;
    struct lane_waiting x = {.account_no = account_no, .app_no = app_no}, y = x, *a = &x, *b = &y;
    subject_lane_waiting(first, a);
    subject_lane_waiting(second, b);
    bool good = true;
    SAME_INT(status);
    for (int kind = 0; kind < LANE_KINDS; kind++) {
        SAME_INT(count[kind]);
        SAME_INT(oldest_accepted_ms[kind]);
    }
    return good;
}

static bool compare_callback(const struct callback *a, const struct callback *b)
{
    bool good = true;
    SAME_INT(account_no);
    SAME_INT(app_no);
    SAME_INT(event_no);
    SAME_INT(type);
    SAME_INT(lane);
    SAME_INT(is_test);
    SAME_INT(signature_offset);
    SAME_INT(original_no);
    SAME_INT(occurred_ms);
    SAME_INT(accepted_ms);
    SAME_STR(event_id);
    bool erased = is_erased(a->panelist_id) && is_erased(b->panelist_id);
    if (!erased)
        SAME_STR(panelist_id);
    if (erased) /* a reversal made later carries the replacement */
        SAME_INT(body.n);
    else
        SAME_STR(body);
    SAME_INT(place.failed_attempts);
    SAME_INT(place.slot);
    SAME_INT(place.due_ms);
    SAME_INT(attempts_made);
    SAME_INT(manual);
    SAME_INT(was_delivered);
    return good;
}

/* `more` and the next due time may promise too much or too early, as what they speak of may have
 * become final meanwhile; then the next page must say so. Never too little, never too late. */
static bool compare_rest(struct subject *second, const struct due_page *a, const struct due_page *b)
{
    if (a->more)
        return CHECK(b->more);
    if (!b->more)
        return CHECK(b->next_due_ms <= a->next_due_ms && b->next_due_ms > b->due_until_ms);
    struct due_page rest = {
        .lane = b->lane, .due_until_ms = b->due_until_ms, .limit = LIMIT_PAGE_CALLBACKS};
    rest.after = b->last;
    subject_page(second, &rest);
    bool good = CHECK(rest.count == 0 && !rest.more);
    drop_callbacks(rest.items, rest.count);
    return good;
}

bool compare_page(struct subject *first, struct subject *second, const struct due_page *query,
                  struct due_page *ret_page)
{
    struct due_page x = *query, y = *query, *a = &x, *b = &y;
    subject_page(first, a);
    subject_page(second, b);
    bool good = true;
    SAME_INT(status);
    SAME_INT(count);
    for (size_t i = 0; good && i < a->count; i++)
        good = compare_callback(a->items[i], b->items[i]);
    good = good && compare_rest(second, a, b);
    if (!good)
        printf("  page: lane %llu until %lld after %lld/%llu limit %u\n",
               (unsigned long long)query->lane, (long long)query->due_until_ms,
               (long long)query->after.due_ms, (unsigned long long)query->after.event_no,
               query->limit);
    drop_callbacks(b->items, b->count);
    *ret_page = *a;
    return good;
}

static int compare_ids(const void *p, const void *q)
{
    const struct callback *a = *(struct callback *const *)p, *b = *(struct callback *const *)q;
    if (a->account_no != b->account_no)
        return a->account_no < b->account_no ? -1 : 1;
    return a->event_no < b->event_no ? -1 : a->event_no > b->event_no;
}

bool compare_owed(struct subject *first, struct subject *second)
{
    struct callback **a, **b;
    size_t n = subject_take_owed(first, 0, &a);
    size_t m = subject_take_owed(second, n, &b);
    bool good = CHECK_EQ_UINT(m, n);
    if (n)
        qsort(a, n, sizeof(struct callback *), compare_ids);
    if (m)
        qsort(b, m, sizeof(struct callback *), compare_ids);
    for (size_t i = 0; good && i < n; i++)
        good = compare_callback(a[i], b[i]);
    drop_callbacks(a, n);
    drop_callbacks(b, m);
    return good;
}

bool compare_numbers(struct subject *first, struct subject *second)
{
    struct store_numbers x, y, *a = &x, *b = &y;
    store_get_numbers(first->store, a);
    *b = subject_numbers(second, a->callbacks_pending, a->callbacks_delivered, a->callbacks_dead,
                         a->oldest_pending_ms);
    bool good = true;
    SAME_INT(events_accepted);
    SAME_INT(callbacks_pending);
    SAME_INT(callbacks_delivered);
    SAME_INT(callbacks_dead);
    SAME_INT(oldest_pending_ms);
    return good;
}
