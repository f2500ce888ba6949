/* The store as plainly as it can be written: what every other one must agree with.
 *
 * It knows no batch that is more than its items, and no disk. But for index.c every question is
 * answered by looking at everything there is, in the words of the contract. Speed does not
 * matter here; being obviously right does. */
#include "memory_store/memory_store.h"

#include "base/alloc.h"
#include "domain/acceptance.h"
#include "domain/clock.h"
#include "domain/payload.h"

#include <stdlib.h>

struct memory_store *memory_of(struct store *s)
{
    struct memory_store *m = CONTAINER_OF(s, struct memory_store, store);
    CHECK_MAGIC(m, MEMORY_STORE_MAGIC);
    return m;
}

static bool is_numbered(const struct entry *e, uint32_t account_no, uint64_t event_no)
{
    return e->event.account_no == account_no && e->event.event_no == event_no;
}

struct entry *memory_find_no(struct memory_store *m, uint32_t account_no, uint64_t event_no)
{
    /* Of a store with one account it stands where its number says. */
    if (event_no > 0 && event_no <= m->count &&
        is_numbered(m->entries[event_no - 1], account_no, event_no))
        return m->entries[event_no - 1];
    for (size_t i = 0; i < m->count; i++)
        if (is_numbered(m->entries[i], account_no, event_no))
            return m->entries[i];
    return NULL;
}

struct callback *memory_callback(const struct entry *e)
{
    struct callback *c = callback_new(&e->event, &e->life);
    c->resend_no = e->resend.no;
    return c;
}

/* --- what has become due, for the sink ----------------------------------------------------- */

struct owed_list {
    struct callback **items;
    size_t count, capacity;
};

static void owe(struct owed_list *list, const struct entry *e)
{
    *ARRAY_PUSH(list->items, list->count, list->capacity) = memory_callback(e);
}

/* Without the lock: the sink is somebody else's code. */
static void hand_over(struct memory_store *m, struct owed_list *list)
{
    if (list->count)
        m->sink->owed(m->sink, list->items, list->count);
    free(list->items);
}

/* --- taking in ------------------------------------------------------------------------------ */

/* Times of payments by the disqualification rule to this (app, panelist); the caller's. */
static int64_t *find_payments(const struct memory_store *m, const struct candidate *c,
                              size_t *ret_count)
{
    int64_t *at_ms = NULL;
    size_t n = 0, capacity = 0;
    for (size_t i = 0; i < m->count; i++) {
        const struct event *e = &m->entries[i]->event;
        if (e->cap != CAP_COUNTED || e->app_no != c->terms->app_no ||
            !str_eq(e->panelist_id, c->panelist_id))
            continue;
        *ARRAY_PUSH(at_ms, n, capacity) = e->occurred_ms;
    }
    cap_sort(at_ms, n);
    *ret_count = n;
    return at_ms;
}

static bool is_reversed(const struct memory_store *m, const struct event *original)
{
    for (size_t i = 0; i < m->count; i++) {
        const struct event *e = &m->entries[i]->event;
        if (e->type == EVENT_OFFER_COMPLETION_REVERSED && e->account_no == original->account_no &&
            e->original_no == original->event_no)
            return true;
    }
    return false;
}

static uint64_t last_event_no(const struct memory_store *m, uint32_t account_no)
{
    for (size_t i = m->count; i > 0; i--)
        if (m->entries[i - 1]->event.account_no == account_no)
            return m->entries[i - 1]->event.event_no;
    return 0;
}

/* The original's callback of a reversal; NULL: the event reverses none. */
static const struct callback_life *find_original(struct memory_store *m, const struct event *e)
{
    const struct entry *original =
        e->original_no ? memory_find_no(m, e->account_no, e->original_no) : NULL;
    return original ? &original->life : NULL;
}

static struct entry *add_entry(struct memory_store *m, const struct event *event)
{
    struct entry *e = xcalloc(1, sizeof *e);
    e->event = *event;
    event_keep(&e->event, &m->arena);
    *ARRAY_PUSH(m->entries, m->count, m->capacity) = e;
    memory_index(m, e);
    books_owe(&m->ledger, &e->event, event->state);
    e->life.state = event->state;
    struct callback_life life = life_accept(event, find_original(m, event));
    memory_set(m, e, &life);
    return e;
}

static struct verdict take_in(struct memory_store *m, const struct candidate *c,
                              int64_t received_ms, struct owed_list *owed)
{
    uint32_t account_no = c->terms->account_no;
    const struct entry *same = memory_find(m, account_no, c->event_id), *original = NULL;
    if (acceptance_needs_original(c))
        original = memory_find(m, account_no, c->original_reward_id);
    size_t paid_count = 0;
    int64_t *paid_at_ms = acceptance_needs_payments(c) ? find_payments(m, c, &paid_count) : NULL;
    struct acceptance_facts facts = {
        .received_ms = received_ms,
        .last_accepted_ms = m->last_accepted_ms,
        .last_event_no = last_event_no(m, account_no),
        .is_known = same != NULL,
        .known_content = same ? same->event.content : 0,
        .known_event_no = same ? same->event.event_no : 0,
        .paid = {paid_at_ms, paid_count},
        .original = original ? &original->event : NULL,
        .is_original_reversed = original && is_reversed(m, &original->event),
    };
    struct event e;
    struct buf body = {0};
    struct verdict v = acceptance_decide(c, &facts, &e);
    free(paid_at_ms);
    if (v.kind != VERDICT_ACCEPTED)
        return v;
    m->last_accepted_ms = e.accepted_ms;
    payload_fix(&e, c, &body);
    const struct entry *added = add_entry(m, &e);
    buf_free(&body);
    if (added->life.wait == WAIT_DUE)
        owe(owed, added);
    return v;
}

static void memory_submit(struct store *s, struct intake_batch *batch)
{
    struct memory_store *m = memory_of(s);
    struct owed_list owed = {0};
    batch->verdicts = arena_alloc(&batch->arena, batch->count * sizeof *batch->verdicts);
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < batch->count; i++)
        batch->verdicts[i] = take_in(m, &batch->items[i], batch->received_ms, &owed);
    m->commits++;
    pthread_mutex_unlock(&m->lock);
    batch->status = STORE_OK;
    executor_post(batch->reply_to, &batch->done);
    hand_over(m, &owed);
}

/* --- outcomes ------------------------------------------------------------------------------- */

static void keep_attempt(struct memory_store *m, struct entry *e, const struct attempt *attempt)
{
    struct attempt a = *attempt;
    attempt_keep(&a, &m->arena);
    if (!e->event.body.p) /* erased during the attempt */
        attempt_erase(&a);
    *ARRAY_PUSH(e->log, e->log_count, e->log_capacity) = a;
}

/* What the outcome, which has left the original so, means for its reversal. */
static void release_reversal(struct memory_store *m, const struct entry *original,
                             const struct outcome *o, struct owed_list *owed)
{
    for (size_t i = 0; m->held_count > 0 && i < m->count; i++) {
        struct entry *e = m->entries[i];
        struct callback_life life = e->life;
        if (e->event.account_no != original->event.account_no ||
            e->event.original_no != original->event.event_no ||
            !life_release(&life, &original->life, outcome_end_ms(o)))
            continue;
        memory_set(m, e, &life);
        owe(owed, e);
    }
}

static void resend_entry(struct memory_store *m, struct entry *e, struct owed_list *owed)
{
    struct callback_life life = e->life;
    life_resend(&life, e->resend.due_ms, find_original(m, &e->event));
    memory_set(m, e, &life);
    if (life.wait == WAIT_DUE)
        owe(owed, e);
}

static void take_outcome(struct memory_store *m, const struct outcome *o, struct owed_list *owed)
{
    struct entry *e = memory_find_no(m, o->account_no, o->event_no);
    if (!e)
        return;
    struct callback_life life = e->life;
    struct callback_decision d = outcome_decision(o);
    d.is_erased = !e->event.body.p;
    if (o->has_attempt)
        keep_attempt(m, e, &o->attempt);
    life_decide(&life, &d);
    memory_set(m, e, &life);
    release_reversal(m, e, o, owed);
    if (life_answer_resend(&e->resend, o->resend_no, d.is_erased))
        resend_entry(m, e, owed);
}

static void memory_record(struct store *s, struct outcome_batch *batch)
{
    struct memory_store *m = memory_of(s);
    struct owed_list owed = {0};
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < batch->count; i++)
        take_outcome(m, &batch->items[i], &owed);
    m->commits++;
    pthread_mutex_unlock(&m->lock);
    batch->status = STORE_OK;
    executor_post(batch->reply_to, &batch->done);
    hand_over(m, &owed);
}

/* --- objects -------------------------------------------------------------------------------- */

static struct object *find_object(struct memory_store *m, enum object_kind kind, struct str id)
{
    for (size_t i = 0; i < m->object_count; i++)
        if (m->objects[i].kind == kind && str_eq(m->objects[i].id, id))
            return &m->objects[i];
    return NULL;
}

static void set_object(struct memory_store *m, enum object_kind kind, struct str id,
                       struct str document)
{
    struct object *o = find_object(m, kind, id);
    if (o) {
        o->document = arena_str(&m->arena, document);
        return;
    }
    *ARRAY_PUSH(m->objects, m->object_count, m->object_capacity) =
        (struct object){kind, arena_str(&m->arena, id), arena_str(&m->arena, document)};
}

static void set_parts(struct memory_store *m, const struct object_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        set_object(m, parts[i].kind, parts[i].id, parts[i].document);
}

/* --- resends -------------------------------------------------------------------------------- */

static void memory_resend(struct store *s, struct resend *resend)
{
    struct memory_store *m = memory_of(s);
    struct owed_list owed = {0};
    pthread_mutex_lock(&m->lock);
    struct entry *e = memory_find(m, resend->account_no, resend->event_id);
    enum resend_verdict verdict = RESEND_NOT_MEANT;
    if (e)
        verdict = life_judge_resend(&e->event, e->life.state, resend->only_states);
    resend->status = resend_status(verdict);
    if (verdict == RESEND_ACCEPTED) {
        e->resend = (struct pending_resend){++m->resends, resend->now_ms};
        resend_entry(m, e, &owed);
        set_parts(m, resend->parts, resend->part_count);
    }
    m->commits++;
    pthread_mutex_unlock(&m->lock);
    executor_post(resend->reply_to, &resend->done);
    hand_over(m, &owed);
}

/* --- accounts and erasing ------------------------------------------------------------------- */

static void memory_change_object(struct store *s, struct object_change *change)
{
    struct memory_store *m = memory_of(s);
    pthread_mutex_lock(&m->lock);
    const struct object *o = find_object(m, change->kind, change->id);
    bool found = change->document.p || (o && o->document.p);
    change->status = found ? STORE_OK : STORE_NOT_FOUND;
    if (found) {
        set_object(m, change->kind, change->id, change->document);
        set_parts(m, change->parts, change->part_count);
    }
    m->commits++;
    pthread_mutex_unlock(&m->lock);
    executor_post(change->reply_to, &change->done);
}

static void memory_visit_objects(struct store *s, object_visitor visit, void *context)
{
    struct memory_store *m = memory_of(s);
    for (size_t i = 0; i < m->object_count; i++)
        if (m->objects[i].document.p && m->objects[i].kind != OBJECT_AUDIT)
            visit(context, m->objects[i].kind, m->objects[i].id, m->objects[i].document);
}

static void erase_entry(struct memory_store *m, struct entry *e, struct str replacement)
{
    event_erase(&e->event, replacement);
    struct callback_life life = e->life;
    life_erase(&life);
    memory_set(m, e, &life);
    for (size_t i = 0; i < e->log_count; i++)
        attempt_erase(&e->log[i]);
}

static void memory_erase(struct store *s, struct erase *erase)
{
    struct memory_store *m = memory_of(s);
    pthread_mutex_lock(&m->lock);
    char name[ERASED_NAME_BYTES];
    struct str replacement = arena_str(&m->arena, erased_name(m->env, name));
    erase->erased = 0;
    for (size_t i = 0; i < m->count; i++) {
        struct entry *e = m->entries[i];
        if (e->event.account_no != erase->account_no ||
            !str_eq(e->event.panelist_id, erase->panelist_id))
            continue;
        erase_entry(m, e, replacement);
        erase->erased++;
    }
    set_parts(m, erase->parts, erase->part_count);
    m->commits++;
    pthread_mutex_unlock(&m->lock);
    erase->status = STORE_OK;
    executor_post(erase->reply_to, &erase->done);
}

/* --- life ----------------------------------------------------------------------------------- */

static void memory_start(struct store *s, struct owed_sink *sink)
{
    memory_of(s)->sink = sink;
}

static const struct hash_secret *memory_hash_secret(struct store *s)
{
    return &memory_of(s)->secret;
}

static void memory_close(struct store *s)
{
    struct memory_store *m = memory_of(s);
    for (size_t i = 0; i < m->count; i++) {
        free(m->entries[i]->log);
        free(m->entries[i]);
    }
    free(m->entries);
    free(m->by_id);
    free(m->waiting);
    free(m->objects);
    books_free(&m->ledger);
    arena_free(&m->arena);
    pthread_mutex_destroy(&m->lock);
    m->magic = 0;
    s->magic = 0;
    free(m);
}

static void memory_request(struct store *s, enum request_kind kind, void *what)
{
    switch (kind) {
    case REQUEST_INTAKE: memory_submit(s, what); break;
    case REQUEST_OUTCOMES: memory_record(s, what); break;
    case REQUEST_PAGE: memory_page(s, what); break;
    case REQUEST_OBJECT: memory_change_object(s, what); break;
    case REQUEST_OBJECTS: memory_list_objects(s, what); break;
    case REQUEST_REPORT: memory_report(s, what); break;
    case REQUEST_INTRADAY: memory_intraday(s, what); break;
    case REQUEST_DELIVERY_STATS: memory_delivery_stats(s, what); break;
    case REQUEST_STATEMENT: memory_statement(s, what); break;
    case REQUEST_BOOKS: memory_check_books(s, what); break;
    case REQUEST_WAITING: memory_lane_waiting(s, what); break;
    case REQUEST_CALLBACK: memory_get_callback(s, what); break;
    case REQUEST_CALLBACKS: memory_list_callbacks(s, what); break;
    case REQUEST_COUNT: memory_count_callbacks(s, what); break;
    case REQUEST_RESEND: memory_resend(s, what); break;
    case REQUEST_ERASE: memory_erase(s, what); break;
    default: UNREACHABLE();
    }
}

static const struct store_ops memory_ops = {
    .request = memory_request,
    .numbers = memory_numbers,
    .visit_objects = memory_visit_objects,
    .backlog = memory_backlog,
    .hash_secret = memory_hash_secret,
    .start = memory_start,
    .close = memory_close,
};

struct store *memory_store_open(struct env *env)
{
    struct memory_store *m = xcalloc(1, sizeof *m);
    m->magic = MEMORY_STORE_MAGIC;
    m->store = (struct store){.magic = STORE_MAGIC, .ops = &memory_ops};
    m->env = env;
    ASSERT(pthread_mutex_init(&m->lock, NULL) == 0);
    env_random(env, m->secret.bytes, sizeof m->secret.bytes);
    return &m->store;
}
