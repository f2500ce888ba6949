/* The functions of store.h around a store's slots. They assert here, once, everything that an
 * implementation may rely on, so that a wrong call fails in every store alike and before anything
 * is recorded. */
#include "store/store_ops.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/sort.h"
#include "domain/acceptance_times.h"

#include <stdio.h>
#include <stdlib.h>

static void check_request(const struct store *s, const struct task *done,
                          const struct executor *reply_to)
{
    CHECK_MAGIC(s, STORE_MAGIC);
    ASSERT(done->run != NULL);
    ASSERT(reply_to != NULL);
}

void store_warn_of_clock(int64_t last_accepted_ms, int64_t received_ms)
{
    if (acceptance_goes_back(last_accepted_ms, received_ms))
        log_warning("acceptance_goes_back", LOG_INT("by_ms", last_accepted_ms - received_ms),
                    LOG_C("why", "the clock was put back"));
}

/* --- events ----------------------------------------------------------------------------------- */

void store_set_waiting_most(struct store *s, int64_t waiting_most)
{
    atomic_store(&s->waiting_most, waiting_most ? waiting_most : LIMIT_CALLBACKS_WAITING);
}

void store_intake_ended(struct store *s, const struct intake_batch *batch)
{
    atomic_fetch_sub(&s->queued_events, (long long)batch->count);
    atomic_fetch_sub(&s->queued_bytes, (long long)batch->bytes);
}

void store_count_refusal(struct store *s, enum store_refusal refusal)
{
    atomic_fetch_add(&s->refused[refusal], 1);
}

bool store_queue_is_full(const struct store *s, const struct intake_batch *submitted)
{
    long long queued = atomic_load(&s->queued_bytes);
    return queued > LIMIT_STORE_QUEUED_BYTES &&
           (!submitted || queued > (long long)submitted->bytes);
}

void store_fail(struct store *s, const char *why)
{
    if (!atomic_exchange(&s->failed, true))
        log_error("store_failed", LOG_C("why", why ? why : "unknown"));
}

/* Counts the batch before it is judged, so that of many submitted at once some are refused. */
static bool refuse_if_full(struct store *s, struct intake_batch *batch)
{
    if (!s->ops->judge)
        return false;
    atomic_fetch_add(&s->queued_events, (long long)batch->count);
    atomic_fetch_add(&s->queued_bytes, (long long)batch->bytes);
    enum store_refusal refusal = s->ops->judge(s, batch);
    if (refusal == STORE_TAKES)
        return false;
    store_intake_ended(s, batch);
    store_count_refusal(s, refusal);
    batch->status = refusal == STORE_REFUSES_FAILED ? STORE_FAILED : STORE_BUSY;
    executor_post(batch->reply_to, &batch->done);
    return true;
}

void store_submit(struct store *s, struct intake_batch *batch)
{
    check_request(s, &batch->done, batch->reply_to);
    ASSERT(batch->count <= LIMIT_EVENTS_PER_REQUEST);
    ASSERT(batch->count == 0 || batch->items != NULL);
    for (size_t i = 0; i < batch->count; i++) {
        const struct candidate *c = &batch->items[i];
        ASSERT(c->terms != NULL && c->client_no != 0);
        ASSERT(c->type >= EVENT_SURVEY_STARTED && c->type <= EVENT_TYPE_LAST);
        ASSERT(c->event_id.p != NULL && c->event_id.n > 0);
        ASSERT(c->panelist_id.p != NULL || c->type == EVENT_OFFER_COMPLETION_REVERSED);
    }
    if (!refuse_if_full(s, batch))
        s->ops->request(s, REQUEST_INTAKE, batch);
}

/* --- other requests --------------------------------------------------------------------------- */

void store_record(struct store *s, struct outcome_batch *batch)
{
    check_request(s, &batch->done, batch->reply_to);
    ASSERT(batch->count == 0 || batch->items != NULL);
    for (size_t i = 0; i < batch->count; i++) {
        const struct outcome *o = &batch->items[i];
        ASSERT(o->event_no != 0);
        ASSERT(o->state >= CALLBACK_PENDING && o->state <= CALLBACK_SKIPPED);
        ASSERT(o->state != CALLBACK_DELIVERING);
        ASSERT(!o->has_attempt || o->attempt.number >= 1);
        ASSERT(callback_reason_fits(o->state, o->reason));
    }
    s->ops->request(s, REQUEST_OUTCOMES, batch);
}

void store_page(struct store *s, struct due_page *page)
{
    check_request(s, &page->done, page->reply_to);
    ASSERT(page->limit > 0 && page->limit <= LIMIT_PAGE_CALLBACKS);
    s->ops->request(s, REQUEST_PAGE, page);
}

static void check_parts(const struct object_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ASSERT(parts[i].kind >= OBJECT_PARTNER && parts[i].kind <= OBJECT_KIND_LAST);
        ASSERT(parts[i].id.p != NULL && parts[i].id.n > 0);
    }
}

void store_change_object(struct store *s, struct object_change *change)
{
    check_request(s, &change->done, change->reply_to);
    ASSERT(change->kind >= OBJECT_PARTNER && change->kind <= OBJECT_KIND_LAST);
    ASSERT(change->id.p != NULL && change->id.n > 0);
    check_parts(change->parts, change->part_count);
    s->ops->request(s, REQUEST_OBJECT, change);
}

void store_list_objects(struct store *s, struct object_list *list)
{
    check_request(s, &list->done, list->reply_to);
    ASSERT(list->kind >= OBJECT_PARTNER && list->kind <= OBJECT_KIND_LAST);
    ASSERT(list->from.p && list->below.p && list->limit > 0);
    s->ops->request(s, REQUEST_OBJECTS, list);
}

void store_report(struct store *s, struct report_query *query)
{
    check_request(s, &query->done, query->reply_to);
    ASSERT(query->first_day <= query->last_day);
    ASSERT(query->limit > 0);
    ASSERT(query->client_count == 0 || query->client_nos != NULL);
    for (size_t i = 1; i < query->client_count; i++)
        ASSERT(query->client_nos[i - 1] < query->client_nos[i]);
    s->ops->request(s, REQUEST_REPORT, query);
}

void store_intraday(struct store *s, struct intraday_query *query)
{
    check_request(s, &query->done, query->reply_to);
    ASSERT(query->account_no != 0);
    memset(query->slots, 0, sizeof query->slots);
    s->ops->request(s, REQUEST_INTRADAY, query);
}

void store_delivery_stats(struct store *s, struct delivery_stats_query *query)
{
    check_request(s, &query->done, query->reply_to);
    ASSERT(query->account_no != 0);
    ASSERT(query->app_no != 0 || query->lane == LANE_NONE);
    ASSERT(query->count > 0 && query->count <= DELIVERY_STATS_POINTS_MOST);
    ASSERT(query->step_ms >= delivery_stats_steps[0].step_ms &&
           query->from_ms % query->step_ms == 0);
    memset(query->points, 0, sizeof query->points);
    s->ops->request(s, REQUEST_DELIVERY_STATS, query);
}

void store_statement(struct store *s, struct statement_query *query)
{
    check_request(s, &query->done, query->reply_to);
    ASSERT(query->account_no != 0);
    s->ops->request(s, REQUEST_STATEMENT, query);
}

void store_check_books(struct store *s, struct books_check *check)
{
    check_request(s, &check->done, check->reply_to);
    ASSERT(check->callbacks_most > 0);
    check->days = check->callbacks = check->difference_total = check->took_ms = 0;
    check->differences = NULL;
    check->difference_count = 0;
    check->more = false;
    check->last_account_no = check->after_account_no;
    check->last_day = check->after_day;
    s->ops->request(s, REQUEST_BOOKS, check);
}

void store_lane_waiting(struct store *s, struct lane_waiting *waiting)
{
    check_request(s, &waiting->done, waiting->reply_to);
    ASSERT(waiting->account_no != 0 && waiting->app_no != 0);
    for (int k = 0; k < LANE_KINDS; k++)
        waiting->count[k] = waiting->oldest_accepted_ms[k] = 0;
    s->ops->request(s, REQUEST_WAITING, waiting);
}

void store_get_callback(struct store *s, struct callback_get *get)
{
    check_request(s, &get->done, get->reply_to);
    ASSERT(get->event_id.p != NULL);
    s->ops->request(s, REQUEST_CALLBACK, get);
}

void store_list_callbacks(struct store *s, struct callback_list *list)
{
    check_request(s, &list->done, list->reply_to);
    ASSERT(list->limit > 0);
    ASSERT(list->order == LIST_NEWEST_FIRST || list->order == LIST_OLDEST_FIRST);
    s->ops->request(s, REQUEST_CALLBACKS, list);
}

void store_count_callbacks(struct store *s, struct callback_count *count)
{
    check_request(s, &count->done, count->reply_to);
    ASSERT(count->account_no != 0);
    ASSERT(count->states != 0 && count->states < 2u << CALLBACK_SKIPPED);
    s->ops->request(s, REQUEST_COUNT, count);
}

void store_resend(struct store *s, struct resend *resend)
{
    check_request(s, &resend->done, resend->reply_to);
    ASSERT(resend->event_id.p != NULL);
    check_parts(resend->parts, resend->part_count);
    s->ops->request(s, REQUEST_RESEND, resend);
}

struct str erased_name(struct env *env, char text[ERASED_NAME_BYTES])
{
    unsigned char random[12];
    size_t n = (size_t)snprintf(text, ERASED_NAME_BYTES, "erased-");
    env_random(env, random, sizeof random);
    hex_print(text + n, random, sizeof random);
    return (struct str){text, n + 2 * sizeof random};
}

void store_erase(struct store *s, struct erase *erase)
{
    check_request(s, &erase->done, erase->reply_to);
    ASSERT(erase->panelist_id.p != NULL && erase->panelist_id.n > 0);
    check_parts(erase->parts, erase->part_count);
    s->ops->request(s, REQUEST_ERASE, erase);
}

void store_feed(struct store *s, struct object_feed *feed)
{
    check_request(s, &feed->done, feed->reply_to);
    if (s->ops->leases) {
        s->ops->request(s, REQUEST_FEED, feed);
        return;
    }
    feed->status = STORE_OK;
    feed->count = 0;
    feed->more = false;
    executor_post(feed->reply_to, &feed->done);
}

struct leases *store_leases(struct store *s)
{
    CHECK_MAGIC(s, STORE_MAGIC);
    return s->ops->leases ? s->ops->leases(s) : NULL;
}

void store_watch(struct store *s, struct store_watcher *watcher)
{
    CHECK_MAGIC(s, STORE_MAGIC);
    if (s->ops->watch)
        s->ops->watch(s, watcher);
}

void store_ask(struct store *s, struct store_question *question)
{
    check_request(s, &question->done, question->reply_to);
    s->ops->ask(s, question);
}

void store_answer(struct store *s, uint32_t app_no, int64_t question, struct str answer)
{
    CHECK_MAGIC(s, STORE_MAGIC);
    s->ops->answer(s, app_no, question, answer);
}

void store_place(struct store *s, uint32_t account_no, uint32_t app_no, uint32_t cluster)
{
    CHECK_MAGIC(s, STORE_MAGIC);
    ASSERT(account_no != 0);
    if (s->ops->place)
        s->ops->place(s, account_no, app_no, cluster);
}

void store_look(struct store *s)
{
    CHECK_MAGIC(s, STORE_MAGIC);
    if (s->ops->look)
        s->ops->look(s);
}

enum store_refusal store_get_refusal(struct store *s)
{
    CHECK_MAGIC(s, STORE_MAGIC);
    if (s->ops->judge)
        return s->ops->judge(s, NULL);
    return s->ops->refusal ? s->ops->refusal(s) : STORE_TAKES;
}

void store_get_numbers(struct store *s, struct store_numbers *ret)
{
    CHECK_MAGIC(s, STORE_MAGIC);
    /* read first, so that an event that leaves the queue meanwhile is counted twice and not never
     */
    long long events = atomic_load(&s->queued_events), bytes = atomic_load(&s->queued_bytes);
    s->ops->numbers(s, ret);
    if (!s->ops->judge)
        return;
    ret->events_queued = events;
    ret->queued_bytes = bytes;
    ret->queued_most_bytes = LIMIT_STORE_QUEUED_BYTES;
    ret->waiting_most = atomic_load(&s->waiting_most);
    for (size_t i = 0; i < STORE_REFUSALS; i++)
        ret->refused[i] = atomic_load(&s->refused[i]);
    ret->refusal = s->ops->judge(s, NULL);
    ret->accepting = ret->refusal == STORE_TAKES;
    ret->failed = ret->refusal == STORE_REFUSES_FAILED;
}

size_t store_get_clusters(struct store *s, struct cluster_state *ret)
{
    CHECK_MAGIC(s, STORE_MAGIC);
    return s->ops->clusters ? s->ops->clusters(s, ret) : 0;
}

void store_visit_objects(struct store *s, object_visitor visit, void *context)
{
    CHECK_MAGIC(s, STORE_MAGIC);
    s->ops->visit_objects(s, visit, context);
}

size_t store_backlog(struct store *s, struct lane_backlog **ret_lanes)
{
    CHECK_MAGIC(s, STORE_MAGIC);
    return s->ops->backlog(s, ret_lanes);
}

void store_set_bounds(struct store *s, const struct store_bounds *bounds)
{
    CHECK_MAGIC(s, STORE_MAGIC);
    ASSERT(bounds->retention.bodies_days > 0 && bounds->retention.attempts_days > 0 &&
           bounds->retention.panelists_days > 0);
    ASSERT(bounds->waiting_most >= 0 && bounds->disk_reserve_bytes >= 0);
    store_set_waiting_most(s, bounds->waiting_most);
    if (s->ops->set_bounds)
        s->ops->set_bounds(s, bounds);
}

const struct hash_secret *store_hash_secret(struct store *s)
{
    CHECK_MAGIC(s, STORE_MAGIC);
    return s->ops->hash_secret(s);
}

void store_start(struct store *s, struct owed_sink *sink)
{
    CHECK_MAGIC(s, STORE_MAGIC);
    ASSERT(sink != NULL && sink->owed != NULL);
    s->ops->start(s, sink);
}

void store_stopping(struct store *s)
{
    CHECK_MAGIC(s, STORE_MAGIC);
    if (s->ops->stopping)
        s->ops->stopping(s);
}

void store_close(struct store *s)
{
    CHECK_MAGIC(s, STORE_MAGIC);
    s->ops->close(s);
}

void retention_log(enum retention_move move, const struct retention_clock *clock, int64_t newest_ms)
{
    int64_t ahead_h = (newest_ms - clock->at_ms) / 3600000;
    if (move == RETENTION_DOUBTS)
        log_warning(
            "retention_waits", LOG_INT("clock_ahead_hours", ahead_h),
            LOG_C("why", "events are accepted more than a day later than the store has "
                         "lived: it was stopped for long, or the clock is wrong"),
            LOG_C("effect", "for a day nothing is purged because of this jump of the clock"),
            LOG_C("fix", "if the clock is wrong, set it right within a day"));
    else if (move == RETENTION_BELIEVES)
        log_info("retention_goes_on",
                 LOG_C("why", "the clock has run on for a day without a jump"));
}

enum callback_state callback_list_state(const struct callback_list *list, uint64_t event_no,
                                        enum callback_state stored)
{
    if (stored != CALLBACK_PENDING || list->tried_count == 0)
        return stored;
    const uint64_t *at = bsearch(&event_no, list->tried, list->tried_count, sizeof *list->tried,
                                 sort_compare_numbers);
    return at ? CALLBACK_DELIVERING : stored;
}

bool callback_list_is_foreign(const struct callback_list *list, int64_t accepted_ms)
{
    if (!list->after_accepted_ms)
        return false;
    return accepted_ms ? accepted_ms != list->after_accepted_ms : list->count > 0;
}

int attempt_compare(const void *a, const void *b)
{
    const struct attempt *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->at_ms < y->at_ms ? -1 : x->at_ms > y->at_ms;
}

void callback_list_keep_log(struct callback_list *list, struct callback_row *row)
{
    if (row->log_count == 0)
        return;
    struct attempt *kept = arena_alloc(&list->arena, row->log_count * sizeof *kept);
    memcpy(kept, row->log, row->log_count * sizeof *kept);
    qsort(kept, row->log_count, sizeof *kept, attempt_compare);
    if (list->attempts == ATTEMPTS_LAST) {
        kept += row->log_count - 1;
        row->log_count = 1;
    }
    for (size_t i = 0; i < row->log_count; i++) {
        kept[i].url = kept[i].request_headers = kept[i].response_headers = kept[i].response_body =
            STR_NONE;
        attempt_keep(&kept[i], &list->arena);
    }
    row->log = kept;
}

_Static_assert(LIMIT_STORE_QUEUED_BYTES / (1 << 20) == 12, "as the sentence about the queue says");

static const struct {
    const char *name, *text;
} refusals[STORE_REFUSALS] = {
    [STORE_TAKES] = {"none", "Events are taken."},
    [STORE_REFUSES_FAILED] = {"failed",
                              "The disk refused a write or a sync; the daemon is about to end and "
                              "recovers when it is started again."},
    [STORE_REFUSES_DIRECTORY] = {"directory",
                                 "The store's directory, or a file in it, has been moved, replaced "
                                 "or deleted. Move it back; if it was deleted, save the files that "
                                 "the process still has open before it ends (scrub.md)."},
    [STORE_REFUSES_DATABASE] = {"database",
                                "The database cannot be written: it cannot be reached, its disk is "
                                "full, or somebody holds a lock on it."},
    [STORE_REFUSES_DISK] = {"disk_reserve",
                            "The free space of the store's disk has shrunk to the reserve "
                            "(--disk-reserve)."},
    [STORE_REFUSES_JOURNAL] = {"journal",
                               "The journal has no room: its disk is full or slow, or the database "
                               "is far behind."},
    [STORE_REFUSES_WAITING] = {"waiting", "The number of callbacks that wait has reached its limit "
                                          "(--waiting-most)."},
    [STORE_REFUSES_QUEUE] = {"queue",
                             "Events arrive faster than they can be recorded: the memory for "
                             "events that wait (12 MiB, a fixed limit) is full."},
};

const char *store_refusal_name(enum store_refusal refusal)
{
    ASSERT((unsigned)refusal < STORE_REFUSALS);
    return refusals[refusal].name;
}

const char *store_replica_name(enum store_replica replica)
{
    static const char *const names[] = {
        [STORE_REPLICA_NONE] = "none",
        [STORE_REPLICA_AWAY] = "away",
        [STORE_REPLICA_BEHIND] = "behind",
        [STORE_REPLICA_USED] = "used",
    };
    ASSERT((unsigned)replica < ARRAY_LEN(names));
    return names[replica];
}

const char *store_refusal_text(enum store_refusal refusal)
{
    ASSERT((unsigned)refusal < STORE_REFUSALS);
    return refusals[refusal].text;
}
