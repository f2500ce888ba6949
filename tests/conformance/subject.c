/* Drives a store from one thread: its own clock, its own executor, and a wait for each `done`. */
#include "subject.h"

#include "check.h"

#include "base/alloc.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* --- the environment ------------------------------------------------------------------------ */

static int64_t test_wall_ms(struct env *env)
{
    struct test_env *e = CONTAINER_OF(env, struct test_env, env);
    pthread_mutex_lock(&e->lock);
    int64_t ms = e->wall_ms;
    pthread_mutex_unlock(&e->lock);
    return ms;
}

static int64_t test_mono_ms(struct env *env)
{
    (void)env;
    return env_mono_ms(env_real());
}

static void test_random(struct env *env, void *to, size_t n)
{
    struct test_env *e = CONTAINER_OF(env, struct test_env, env);
    pthread_mutex_lock(&e->lock);
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)to)[i] = (unsigned char)rng_next(&e->rng);
    pthread_mutex_unlock(&e->lock);
}

void test_env_init(struct test_env *e, uint64_t seed)
{
    *e = (struct test_env){.env = {test_wall_ms, test_mono_ms, test_random}, .wall_ms = BASE_MS};
    rng_seed(&e->rng, seed);
    pthread_mutex_init(&e->lock, NULL);
}

/* --- what the store calls, on its own threads ----------------------------------------------- */

static void subject_post(struct executor *executor, struct task *task)
{
    struct subject *s = CONTAINER_OF(executor, struct subject, executor);
    pthread_mutex_lock(&s->lock);
    task->next = NULL;
    if (s->last)
        s->last->next = task;
    else
        s->first = task;
    s->last = task;
    if (task == s->awaited)
        pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static void keep_presumed(struct subject *s, const struct callback *c)
{
    struct outcome_presumed what = callback_presumed(c);
    what.event_id = arena_str(&s->presumed_texts, what.event_id);
    *ARRAY_PUSH(s->presumed, s->presumed_count, s->presumed_capacity) =
        (struct owed_presumed){c->account_no, c->event_no, what};
}

static void subject_owed(struct owed_sink *sink, struct callback **callbacks, size_t count)
{
    struct subject *s = CONTAINER_OF(sink, struct subject, sink);
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < count; i++)
        if (callbacks[i]->presumed_due_ms)
            keep_presumed(s, callbacks[i]);
    s->owed = xgrow(s->owed, &s->owed_capacity, s->owed_count + count, sizeof(struct callback *));
    memcpy(s->owed + s->owed_count, callbacks, count * sizeof(struct callback *));
    s->owed_count += count;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

/* --- life ------------------------------------------------------------------------------------ */

void subject_start(struct subject *s)
{
    store_start(s->store, &s->sink);
}

bool subject_open_unstarted(struct subject *s, struct test_env *env)
{
    s->env = env;
    s->executor.post = subject_post;
    s->sink.owed = subject_owed;
    s->first = s->last = NULL;
    s->owed = NULL;
    s->owed_count = s->owed_capacity = 0;
    s->presumed = NULL;
    s->presumed_count = s->presumed_capacity = 0;
    s->presumed_texts = (struct arena){0};
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    s->store = s->open(s);
    return s->store != NULL;
}

void subject_open(struct subject *s, struct test_env *env)
{
    if (!subject_open_unstarted(s, env)) {
        fprintf(stderr, "%s: the store cannot be opened\n", s->name);
        abort();
    }
    subject_start(s);
}

static void drop_owed(struct subject *s)
{
    drop_callbacks(s->owed, s->owed_count);
    s->owed = NULL;
    s->owed_count = s->owed_capacity = 0;
}

void subject_close(struct subject *s)
{
    store_close(s->store);
    s->store = NULL;
    drop_owed(s);
    free(s->presumed);
    arena_free(&s->presumed_texts);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->changed);
    if (s->clean)
        s->clean(s);
}

void subject_reopen_unstarted(struct subject *s)
{
    ASSERT(s->keeps);
    store_close(s->store);
    drop_owed(s);
    s->store = s->open(s);
    ASSERT(s->store != NULL);
}

void subject_reopen(struct subject *s)
{
    subject_reopen_unstarted(s);
    subject_start(s);
}

void subject_wait(struct subject *s, const struct task *done)
{
    pthread_mutex_lock(&s->lock);
    s->awaited = done;
    for (;;) {
        struct task *before = NULL, *t = s->first;
        while (t && t != done) {
            before = t;
            t = t->next;
        }
        if (t) {
            if (before)
                before->next = t->next;
            else
                s->first = t->next;
            if (s->last == t)
                s->last = before;
            break;
        }
        pthread_cond_wait(&s->changed, &s->lock);
    }
    s->awaited = NULL;
    pthread_mutex_unlock(&s->lock);
}

size_t subject_take_owed(struct subject *s, size_t count, struct callback ***ret)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    pthread_mutex_lock(&s->lock);
    while (s->owed_count < count && pthread_cond_timedwait(&s->changed, &s->lock, &until) == 0)
        ;
    size_t n = s->owed_count;
    *ret = s->owed;
    s->owed = NULL;
    s->owed_count = s->owed_capacity = 0;
    pthread_mutex_unlock(&s->lock);
    return n;
}

void drop_callbacks(struct callback **callbacks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        callback_free(callbacks[i]);
    free(callbacks);
}

/* --- requests --------------------------------------------------------------------------------- */

static void never_run(struct task *task)
{
    (void)task; /* subject_wait takes tasks off the list without running them */
    UNREACHABLE();
}

#define BEGIN(function, s, what)                                                                   \
    do {                                                                                           \
        (what)->done.run = never_run;                                                              \
        (what)->reply_to = &(s)->executor;                                                         \
        function((s)->store, what);                                                                \
    } while (0)

#define ASK(function, s, what)                                                                     \
    do {                                                                                           \
        BEGIN(function, s, what);                                                                  \
        subject_wait(s, &(what)->done);                                                            \
    } while (0)

static void add_member(struct buf *b, const char *name, struct str value)
{
    if (value.p)
        buf_printf(b, "%s=%zu:%.*s;", name, value.n, STR_ARG(value));
}

/* All members as sent: what decides between a duplicate and a conflict. */
static uint64_t content_of(const struct hash_secret *secret, const struct candidate *c)
{
    struct buf b = {0};
    buf_printf(&b, "%d;%d%d;%lld;", (int)c->type, c->has_is_test, c->is_test,
               (long long)c->occurred_ms);
    buf_printf(&b, "%d:%lld;%d:%lld;%lld;", c->has_revenue, (long long)c->revenue_micros,
               c->has_reward, (long long)c->reward_micros, (long long)c->offer_id);
    add_member(&b, "client", c->client_id);
    add_member(&b, "panelist", c->panelist_id);
    add_member(&b, "session", c->session_id);
    add_member(&b, "mid", c->mid);
    add_member(&b, "title", c->offer_title);
    add_member(&b, "goal", c->offer_goal_id);
    add_member(&b, "original", c->original_reward_id);
    add_member(&b, "reason", c->reason);
    uint64_t content = hash_key128(secret, b.p, b.n).lo;
    buf_free(&b);
    return content;
}

static void copy_texts(struct arena *a, struct candidate *c)
{
    struct str *texts[] = {&c->event_id, &c->client_id,   &c->panelist_id,   &c->session_id,
                           &c->mid,      &c->offer_title, &c->offer_goal_id, &c->original_reward_id,
                           &c->reason};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        *texts[i] = arena_str(a, *texts[i]);
}

struct intake_batch *subject_make_batch(struct subject *s, const struct candidate *items,
                                        size_t count, int64_t received_ms)
{
    const struct hash_secret *secret = store_hash_secret(s->store);
    struct intake_batch *b = xcalloc(1, sizeof *b);
    b->done.run = never_run;
    b->reply_to = &s->executor;
    b->received_ms = received_ms;
    b->count = count;
    b->items = arena_alloc(&b->arena, count * sizeof *b->items);
    for (size_t i = 0; i < count; i++) {
        struct candidate *c = &b->items[i];
        *c = items[i];
        copy_texts(&b->arena, c);
        c->key = event_key(secret, c->terms->account_no, c->event_id);
        c->content = content_of(secret, c);
    }
    return b;
}

void free_batch(struct intake_batch *batch)
{
    arena_free(&batch->arena);
    free(batch);
}

enum store_status subject_submit(struct subject *s, const struct candidate *items, size_t count,
                                 int64_t received_ms, struct verdict *ret_verdicts)
{
    struct intake_batch *b = subject_make_batch(s, items, count, received_ms);
    store_submit(s->store, b);
    subject_wait(s, &b->done);
    enum store_status status = b->status;
    if (status == STORE_OK)
        memcpy(ret_verdicts, b->verdicts, count * sizeof *ret_verdicts);
    free_batch(b);
    return status;
}

void accept_at(struct subject *s, struct candidate c, int64_t occurred_ms, int64_t received_ms)
{
    struct verdict v = {0};
    c.occurred_ms = occurred_ms;
    CHECK_EQ_INT(subject_submit(s, &c, 1, received_ms, &v), STORE_OK);
    CHECK_EQ_INT(v.kind, VERDICT_ACCEPTED);
}

static struct outcome_presumed find_presumed(struct subject *s, const struct outcome *o)
{
    struct outcome_presumed found = {0};
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->presumed_count; i++)
        if (s->presumed[i].account_no == o->account_no && s->presumed[i].event_no == o->event_no)
            found = s->presumed[i].what;
    pthread_mutex_unlock(&s->lock);
    return found;
}

enum store_status subject_record(struct subject *s, const struct outcome *items, size_t count)
{
    struct outcome_batch b = {.count = count};
    b.items = arena_alloc(&b.arena, count * sizeof *b.items);
    memcpy(b.items, items, count * sizeof *b.items);
    for (size_t i = 0; i < count; i++)
        if (b.items[i].event_no % 2)
            b.items[i].presumed = find_presumed(s, &b.items[i]);
    for (size_t i = 0; i < count; i++)
        b.items[i].fence = leases_fence(store_leases(s->store), b.items[i].lane);
    ASK(store_record, s, &b);
    arena_free(&b.arena);
    return b.status;
}

void subject_start_page(struct subject *s, struct due_page *page)
{
    BEGIN(store_page, s, page);
}

void subject_page(struct subject *s, struct due_page *page)
{
    subject_start_page(s, page);
    subject_wait(s, &page->done);
}

void subject_report(struct subject *s, struct report_query *query)
{
    ASK(store_report, s, query);
}

void subject_intraday(struct subject *s, struct intraday_query *query)
{
    ASK(store_intraday, s, query);
}

void subject_delivery_stats(struct subject *s, struct delivery_stats_query *query)
{
    ASK(store_delivery_stats, s, query);
}

void subject_statement(struct subject *s, struct statement_query *query)
{
    ASK(store_statement, s, query);
}

void subject_count(struct subject *s, struct callback_count *count)
{
    ASK(store_count_callbacks, s, count);
}

void subject_check_books(struct subject *s, struct books_check *check)
{
    /* A check sees what is applied; a read of objects before it has waited until all is. */
    (void)subject_objects(s, OBJECT_NOTICE, "a", "b", 1);
    ASK(store_check_books, s, check);
}

void subject_lane_waiting(struct subject *s, struct lane_waiting *waiting)
{
    ASK(store_lane_waiting, s, waiting);
}

void subject_start_get(struct subject *s, struct callback_get *get)
{
    BEGIN(store_get_callback, s, get);
}

void subject_get(struct subject *s, struct callback_get *get)
{
    subject_start_get(s, get);
    subject_wait(s, &get->done);
}

void subject_list(struct subject *s, struct callback_list *list)
{
    ASK(store_list_callbacks, s, list);
}

void subject_start_resend(struct subject *s, struct resend *resend)
{
    BEGIN(store_resend, s, resend);
}

void subject_ask_resend(struct subject *s, struct resend *resend)
{
    subject_start_resend(s, resend);
    subject_wait(s, &resend->done);
}

enum store_status subject_resend_only(struct subject *s, uint32_t account_no, const char *event_id,
                                      int64_t now_ms, unsigned only_states)
{
    struct resend r = {.account_no = account_no,
                       .event_id = str_of(event_id),
                       .now_ms = now_ms,
                       .only_states = only_states};
    subject_ask_resend(s, &r);
    return r.status;
}

enum store_status subject_resend(struct subject *s, uint32_t account_no, const char *event_id,
                                 int64_t now_ms)
{
    return subject_resend_only(s, account_no, event_id, now_ms, 0);
}

void subject_start_erase(struct subject *s, struct erase *erase)
{
    BEGIN(store_erase, s, erase);
}

void subject_ask_erase(struct subject *s, struct erase *erase)
{
    subject_start_erase(s, erase);
    subject_wait(s, &erase->done);
}

enum store_status subject_erase(struct subject *s, uint32_t account_no, const char *panelist_id,
                                int64_t *ret_erased)
{
    struct erase e = {.account_no = account_no, .panelist_id = str_of(panelist_id)};
    subject_ask_erase(s, &e);
    *ret_erased = e.erased;
    return e.status;
}

enum store_status subject_object(struct subject *s, enum object_kind kind, const char *id,
                                 const char *document)
{
    return subject_object_with(s, kind, id, document, NULL, 0);
}

const char *subject_objects(struct subject *s, enum object_kind kind, const char *from,
                            const char *below, uint32_t limit)
{
    static char text[1024];
    struct object_list l = {.kind = kind,
                            /* as the API asks for a partner's audit log */
                            .account_no = kind == OBJECT_AUDIT ? ACCOUNT_A : 0,
                            .from = str_of(from),
                            .below = str_of(below),
                            .limit = limit};
    ASK(store_list_objects, s, &l);
    struct buf b = {0};
    for (size_t i = 0; l.status == STORE_OK && i < l.count; i++)
        buf_printf(&b, "%.*s=%.*s;", STR_ARG(l.rows[i].id), STR_ARG(l.rows[i].document));
    if (l.more)
        buf_add_char(&b, '+');
    snprintf(text, sizeof text, "%s", buf_c(&b));
    buf_free(&b);
    arena_free(&l.arena);
    return text;
}

enum store_status subject_object_with(struct subject *s, enum object_kind kind, const char *id,
                                      const char *document, const struct object_part *parts,
                                      size_t part_count)
{
    struct object_change c = {.kind = kind,
                              .id = str_of(id),
                              .document = str_of(document),
                              .parts = parts,
                              .part_count = part_count};
    ASK(store_change_object, s, &c);
    return c.status;
}

struct store_numbers subject_numbers(struct subject *s, int64_t pending, int64_t delivered,
                                     int64_t dead, int64_t oldest_ms)
{
    struct store_numbers n;
    int64_t until = env_mono_ms(env_real()) + 5000;
    for (;;) {
        store_get_numbers(s->store, &n);
        bool reached = n.callbacks_pending == pending && n.callbacks_delivered == delivered &&
                       n.callbacks_dead == dead &&
                       (oldest_ms == NUMBERS_ANY || n.oldest_pending_ms == oldest_ms);
        if (reached || env_mono_ms(env_real()) > until)
            return n;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
}
