/* Delivery on three real loops, each a thread, with a store on threads of its own (the plain one in
 * memory, then the one on disk): everything arrives once while URLs move between hosts and so
 * between loops. */
#include "check.h"

#include "base/alloc.h"
#include "base/log.h"
#include "delivery/delivery.h"
#include "memory_store/memory_store.h"
#include "store/store_open.h"

#include <ftw.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

#define LOOPS 3
#define APPS 12
#define HOSTS 40
#define BATCHES 60
#define PER_BATCH 50
#define EVENTS (BATCHES * PER_BATCH)

/* --- a directory whose apps are replaced while it is read --- */

static pthread_mutex_t apps_lock = PTHREAD_MUTEX_INITIALIZER;
static struct app *apps[APPS + 1];

struct app *directory_app_by_no(struct directory *directory, uint32_t app_no)
{
    (void)directory;
    pthread_mutex_lock(&apps_lock);
    struct app *app = apps[app_no];
    atomic_fetch_add(&app->refs, 1);
    pthread_mutex_unlock(&apps_lock);
    return app;
}

void app_unref(struct app *app)
{
    if (atomic_fetch_sub(&app->refs, 1) > 1)
        return;
    free((char *)(uintptr_t)app->parsed[LANE_SUCCESS].host.p);
    free(app);
}

static void set_app(uint32_t app_no, unsigned host)
{
    struct app *app = xcalloc(1, sizeof(*app));
    char *name = xmalloc(16);
    snprintf(name, 16, "host%u", host);
    atomic_init(&app->refs, 1);
    app->app_no = app_no;
    app->enabled = true;
    app->timeout_ms = 3000;
    app->max_concurrency = 8;
    app->id = STR("app");
    app->secrets.newest = STR("secret-secret");
    app->url[LANE_SUCCESS] = str_of(name);
    app->parsed[LANE_SUCCESS] = (struct url){.host = str_of(name), .port = 80, .target = STR("/")};
    pthread_mutex_lock(&apps_lock);
    struct app *old = apps[app_no];
    app->version = old ? old->version + 1 : 1;
    apps[app_no] = app;
    pthread_mutex_unlock(&apps_lock);
    if (old)
        app_unref(old);
}

/* --- a sender that answers by itself after a while --- */

struct sender {
    struct loop *loop;
};

struct sent {
    struct timer timer;
    struct exchange *x;
    struct loop *loop;
};

static atomic_int oks[EVENTS + 1], tries[EVENTS + 1];

static void answer(struct timer *timer)
{
    struct sent *s = CONTAINER_OF(timer, struct sent, timer);
    struct exchange *x = s->x;
    unsigned no = 0;
    char headers[256];
    snprintf(headers, sizeof(headers), "%.*s", STR_ARG(x->headers));
    if (sscanf(headers, "webhook-id: e-%u", &no) != 1 || no == 0 || no > EVENTS)
        abort();
    int number = atomic_fetch_add(&tries[no], 1);
    bool good = no % 7 != 0 || number >= 2;
    x->class = good ? ATTEMPT_OK : ATTEMPT_STATUS;
    x->status = good ? 200 : 404;
    if (good)
        atomic_fetch_add(&oks[no], 1);
    free(s);
    x->done(x);
}

void sender_start(struct sender *sender, struct exchange *x)
{
    struct sent *s = xcalloc(1, sizeof(*s));
    s->timer.fire = answer;
    s->x = x;
    s->loop = sender->loop;
    loop_timer_set(s->loop, &s->timer,
                   loop_mono_ms(s->loop) + (int64_t)rng_below(loop_rng(s->loop), 4));
}

void sender_flush(struct sender *sender)
{
    (void)sender; /* nothing is owed: each exchange has been started */
}

void sender_cancel(struct sender *sender, struct exchange *x)
{
    (void)sender;
    (void)x;
    UNREACHABLE(); /* every exchange ends in time here */
}

void exchange_free_results(struct exchange *x)
{
    (void)x;
}

/* --- the store on a thread of its own --- */

struct threaded_store {
    struct store store;
    struct store *inner;
    struct loop *loop;
};

struct ask {
    struct task task;
    struct threaded_store *to;
    struct outcome_batch *batch;
    struct due_page *page;
    struct intake_batch *intake;
};

static void run_ask(struct task *task)
{
    struct ask *ask = CONTAINER_OF(task, struct ask, task);
    if (ask->batch)
        store_record(ask->to->inner, ask->batch);
    else if (ask->page)
        store_page(ask->to->inner, ask->page);
    else
        store_submit(ask->to->inner, ask->intake);
    free(ask);
}

static void post_ask(struct ask what)
{
    struct ask *ask = xcalloc(1, sizeof(*ask));
    *ask = what;
    ask->task.run = run_ask;
    executor_post(loop_executor(ask->to->loop), &ask->task);
}

static void record(struct store *s, struct outcome_batch *batch)
{
    post_ask((struct ask){.to = CONTAINER_OF(s, struct threaded_store, store), .batch = batch});
}

static void page(struct store *s, struct due_page *p)
{
    post_ask((struct ask){.to = CONTAINER_OF(s, struct threaded_store, store), .page = p});
}

static void request(struct store *s, enum request_kind kind, void *what)
{
    if (kind == REQUEST_OUTCOMES)
        record(s, what);
    else if (kind == REQUEST_PAGE)
        page(s, what);
    else
        UNREACHABLE();
}

static void numbers(struct store *s, struct store_numbers *ret)
{
    store_get_numbers(CONTAINER_OF(s, struct threaded_store, store)->inner, ret);
}

static const struct store_ops threaded_ops = {.request = request, .numbers = numbers};

/* --- the run --- */

struct running {
    struct loop *loops[LOOPS + 1]; /* the last: the store's */
    struct sender senders[LOOPS];
    pthread_t threads[LOOPS + 1];
    struct threaded_store store;
    struct delivery *delivery;
    struct intake_batch batches[BATCHES];
    struct candidate items[BATCHES][PER_BATCH];
    struct app_terms terms[APPS + 1];
    char ids[EVENTS + 1][16];
    struct task stopped;
};

static atomic_bool has_stopped;
static atomic_int accepted;

static void note_stopped(struct task *task)
{
    (void)task;
    atomic_store(&has_stopped, true);
}

static void note_accepted(struct task *task)
{
    struct intake_batch *b = CONTAINER_OF(task, struct intake_batch, done);
    for (size_t i = 0; i < b->count; i++)
        if (b->verdicts[i].kind == VERDICT_ACCEPTED)
            atomic_fetch_add(&accepted, 1);
}

static void *run_loop(void *loop)
{
    loop_run(loop);
    return NULL;
}

static struct store *open_store(struct running *r, const char *directory)
{
    char *why = NULL;
    struct sqlite_store_options options = {
        .directory = directory, .disk = disk_real(), .env = env_real()};
    r->store.store = (struct store){.magic = STORE_MAGIC, .ops = &threaded_ops};
    r->store.loop = r->loops[LOOPS];
    r->store.inner = directory ? sqlite_store_open(&options, &why) : memory_store_open(env_real());
    if (!r->store.inner) {
        printf("%s\n", why);
        abort();
    }
    return directory ? r->store.inner : &r->store.store;
}

static void open_all(struct running *r, const char *directory)
{
    struct loop *loops[LOOPS];
    struct sender *senders[LOOPS];
    for (int i = 0; i <= LOOPS; i++)
        r->loops[i] = loop_new(env_real());
    for (int i = 0; i < LOOPS; i++) {
        r->senders[i].loop = loops[i] = r->loops[i];
        senders[i] = &r->senders[i];
    }
    for (uint32_t app = 1; app <= APPS; app++) {
        set_app(app, app);
        r->terms[app] = (struct app_terms){
            .account_no = 1, .app_no = app, .currency_micros = 1000000, .reward_decimals = 2};
        r->terms[app].has_url[LANE_SUCCESS] = true;
    }
    struct delivery_options options = {.loops = loops,
                                       .senders = senders,
                                       .loop_count = LOOPS,
                                       .store = open_store(r, directory),
                                       .allowance_total = 64};
    const char *why;
    if (!schedule_parse(STR("20ms,50ms,100ms,1s"), &options.schedule, &why))
        UNREACHABLE();
    r->delivery = delivery_new(&options);
    store_start(r->store.inner, delivery_sink(r->delivery));
    for (int i = 0; i <= LOOPS; i++)
        CHECK_EQ_INT(pthread_create(&r->threads[i], NULL, run_loop, r->loops[i]), 0);
}

static void submit(struct running *r, int n)
{
    const struct hash_secret *secret = store_hash_secret(r->store.inner);
    for (int i = 0; i < PER_BATCH; i++) {
        int no = n * PER_BATCH + i + 1;
        snprintf(r->ids[no], sizeof(r->ids[no]), "e-%d", no);
        r->items[n][i] = (struct candidate){
            .terms = &r->terms[1 + no % APPS],
            .client_no = 1,
            .integration = INTEGRATION_SDK,
            .type = EVENT_SURVEY_COMPLETED,
            .deliver = true,
            .occurred_ms = env_wall_ms(env_real()),
            .has_revenue = true,
            .revenue_micros = 1000000,
            .event_id = str_of(r->ids[no]),
            .client_id = STR("client"),
            .panelist_id = STR("panelist"),
            .key = event_key(secret, 1, str_of(r->ids[no])),
        };
    }
    struct intake_batch *b = &r->batches[n];
    *b = (struct intake_batch){.done = {.run = note_accepted},
                               .reply_to = loop_executor(r->loops[LOOPS]),
                               .items = r->items[n],
                               .count = PER_BATCH,
                               .received_ms = env_wall_ms(env_real())};
    post_ask((struct ask){.to = &r->store, .intake = b});
}

static int64_t delivered(struct running *r)
{
    struct store_numbers n;
    store_get_numbers(r->store.inner, &n);
    return n.callbacks_delivered;
}

static void close_all(struct running *r)
{
    r->stopped.run = note_stopped;
    delivery_stop(r->delivery, loop_executor(r->loops[LOOPS]), &r->stopped);
    for (int i = 0; i < 20000 && !atomic_load(&has_stopped); i++)
        poll(NULL, 0, 1);
    CHECK(atomic_load(&has_stopped));
    for (int i = 0; i <= LOOPS; i++)
        loop_stop(r->loops[i]);
    for (int i = 0; i <= LOOPS; i++)
        pthread_join(r->threads[i], NULL);
    delivery_free(r->delivery);
    store_close(r->store.inner);
    for (int i = 0; i <= LOOPS; i++)
        loop_free(r->loops[i]);
    for (int i = 0; i < BATCHES; i++)
        arena_free(&r->batches[i].arena);
    for (uint32_t app = 1; app <= APPS; app++) {
        app_unref(apps[app]);
        apps[app] = NULL;
    }
}

static void deliver_all(const char *directory)
{
    struct running *r = xcalloc(1, sizeof(*r));
    atomic_store(&has_stopped, false);
    atomic_store(&accepted, 0);
    for (int no = 0; no <= EVENTS; no++)
        oks[no] = tries[no] = 0;
    open_all(r, directory);
    for (int n = 0; n < BATCHES; n++) {
        submit(r, n);
        uint32_t app = 1 + (uint32_t)n % APPS;
        if (n % 2) {
            set_app(app, (unsigned)(n % HOSTS));
            delivery_app_changed(r->delivery, app);
        }
        poll(NULL, 0, 5);
    }
    for (int i = 0; i < 60000 && delivered(r) < EVENTS; i++)
        poll(NULL, 0, 1);
    CHECK_EQ_INT(atomic_load(&accepted), EVENTS);
    CHECK_EQ_INT(delivered(r), EVENTS);
    close_all(r);
    for (int no = 1; no <= EVENTS; no++) {
        CHECK_EQ_INT(oks[no], 1);
        CHECK_EQ_INT(tries[no], no % 7 ? 1 : 3);
    }
    free(r);
}

static void everything_arrives_once_from_memory(void)
{
    deliver_all(NULL);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static void everything_arrives_once_from_disk(void)
{
    char directory[] = "/tmp/postbackd-delivery-XXXXXX";
    REQUIRE(mkdtemp(directory) != NULL);
    deliver_all(directory);
    CHECK_EQ_INT(nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

int main(void)
{
    log_set(LOG_ERROR, false);
    RUN(everything_arrives_once_from_memory);
    RUN(everything_arrives_once_from_disk);
    return check_done("delivery_threads");
}
