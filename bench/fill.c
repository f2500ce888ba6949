/* Fills a store with callbacks that wait, through the store's own code and without HTTP.
 *
 *     fill DIR CALLBACKS FIRST CLIENTS [log | log-of-callbacks [DAYS]]
 *
 * No daemon may run on DIR, and one must have made the clients bench_FIRST to
 * bench_(FIRST+CLIENTS-1) in it: the events are theirs in turn, survey_completed with random
 * EventIds, accepted now. `log` leaves the journal at its bound: SQLite is held back while the
 * memtables fill, and the process ends by SIGKILL once the store takes no more. `log-of-callbacks`
 * makes what people search in instead: the first 20 are ad_hoc, the others surveys and offers, and
 * each has had its one try: 1 in 5,000 is dead, the others are delivered; with DAYS
 * they have occurred one after the other in the last DAYS days, those of more than 30 days ago were
 * imported, so that they have no try, as if those were purged. Prints how many events
 * it was told are durable. */
#include "accounts/changes.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "daemon/master_key.h"
#include "domain/clock.h"
#include "store/store_open.h"

#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BATCH 1024u
#define FLIGHTS 8u
#define PANELISTS 100000u
#define CALLBACKS_OF_PANELIST 100u /* in a log: as many in a small store as in a large one */
#define KEPT_MS (30 * DAY_MS)      /* the attempts of older ones are purged */
#define FULL_AFTER_S 3             /* nothing accepted for so long: the store takes no more */

struct texts {
    char event_id[27], panelist_id[30];
};

struct flight {
    struct intake_batch batch;
    struct outcome_batch outcomes;
    struct outcome ends[BATCH];
    struct candidate items[BATCH];
    struct texts texts[BATCH];
};

static struct {
    struct executor executor;
    struct owed_sink sink;
    struct store *store;
    struct directory *directory;
    struct accounts *accounts;
    struct client **clients;
    struct app **apps;
    size_t client_count, next_client, panelists, wanted;
    int64_t span_ms; /* the first of all has occurred so long ago */
    struct rng rng;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    struct flight *free[FLIGHTS];
    size_t free_count, accepted;
    bool answered;
    bool tried; /* each has had its try */
} fill;

static _Noreturn void give_up(const char *why)
{
    fprintf(stderr, "fill: %s\n", why);
    exit(1);
}

static void run_post(struct executor *executor, struct task *task)
{
    (void)executor;
    task->run(task);
}

static void let_go(struct owed_sink *sink, struct callback **callbacks, size_t count)
{
    (void)sink;
    for (size_t i = 0; i < count; i++)
        callback_free(callbacks[i]);
}

/* --- the store and its accounts -------------------------------------------------------------- */

struct loading {
    struct arena arena;
    struct str why;
};

static void load_object(void *context, enum object_kind kind, struct str id, struct str document)
{
    struct loading *l = context;
    if (kind != OBJECT_RECOVERY &&
        !accounts_load(fill.accounts, &l->arena, (enum account_kind)kind, id, document, &l->why))
        give_up(l->why.p);
}

static void open_store(const char *directory)
{
    char *why = NULL;
    struct sqlite_store_options options = {
        .directory = directory,
        .disk = disk_real(),
        .env = env_real(),
        .retention = {90, 30, 91},
    };
    struct accounts_options accounts = {.env = env_real()};
    struct loading loading = {0};
    fill.store = sqlite_store_open(&options, &why);
    if (!fill.store ||
        !master_key_load(STR_NONE, STR_NONE, directory, env_real(), &accounts.vault, &why))
        give_up(why);
    fill.directory = accounts.directory = directory_new();
    fill.accounts = accounts_new(&accounts);
    store_visit_objects(fill.store, load_object, &loading);
    if (!accounts_loaded(fill.accounts, &loading.arena, &loading.why))
        give_up(loading.why.p);
    arena_free(&loading.arena);
    store_start(fill.store, &fill.sink);
}

static void find_clients(size_t first, size_t count)
{
    fill.clients = xcalloc(count, sizeof(struct client *));
    fill.apps = xcalloc(count, sizeof(struct app *));
    fill.client_count = count;
    for (size_t i = 0; i < count; i++) {
        char id[32];
        snprintf(id, sizeof id, "bench_%zu", first + i);
        fill.clients[i] = directory_client(fill.directory, str_of(id));
        if (!fill.clients[i])
            give_up("a client is missing in the store");
        fill.apps[i] = directory_app_by_no(fill.directory, fill.clients[i]->app_no);
    }
}

/* --- events ------------------------------------------------------------------------------------
 */

#define RARE 20 /* ad_hoc: the oldest of all */

static enum event_type type_of(unsigned long long at, unsigned long long lot)
{
    static const enum event_type types[10] = {EVENT_SURVEY_COMPLETED,    EVENT_SURVEY_COMPLETED,
                                              EVENT_SURVEY_COMPLETED,    EVENT_SURVEY_COMPLETED,
                                              EVENT_SURVEY_COMPLETED,    EVENT_SURVEY_COMPLETED,
                                              EVENT_OFFER_COMPLETED,     EVENT_SURVEY_DISQUALIFIED,
                                              EVENT_SURVEY_DISQUALIFIED, EVENT_OFFER_CLICKED};
    if (!fill.tried)
        return EVENT_SURVEY_COMPLETED;
    return at < RARE ? EVENT_AD_HOC : types[lot % ARRAY_LEN(types)];
}

static void set_type(struct candidate *c, unsigned long long at, unsigned long long lot)
{
    c->type = type_of(at, lot);
    c->has_reward = c->type == EVENT_AD_HOC;
    c->reward_micros = 1000000;
    if (!event_type_is_offer(c->type))
        return;
    c->offer_id = 1 + (int64_t)(lot % 500);
    c->offer_title = STR("Reach level 20 of a game");
    if (c->type == EVENT_OFFER_CLICKED) {
        c->has_revenue = false;
        c->revenue_micros = 0;
    }
}

static int64_t age_ms(size_t number)
{
    if (number >= fill.wanted)
        return 0;
    return (int64_t)((double)fill.span_ms * (double)(fill.wanted - number) / (double)fill.wanted);
}

static struct candidate generate(struct texts *to, int64_t now_ms)
{
    int64_t age = age_ms(fill.next_client);
    unsigned long long a = rng_next(&fill.rng), b = rng_next(&fill.rng);
    size_t number = fill.next_client++, at = number % fill.client_count;
    snprintf(to->event_id, sizeof to->event_id, "%016llx%010llx", a, b & 0xffffffffffu);
    snprintf(to->panelist_id, sizeof to->panelist_id, "panelist-%06llu", a % fill.panelists);
    struct candidate c = {
        .terms = &fill.apps[at]->terms,
        .client_no = fill.clients[at]->client_no,
        .integration = INTEGRATION_SDK,
        .type = EVENT_SURVEY_COMPLETED,
        .deliver = age < KEPT_MS,
        .has_revenue = true,
        .occurred_ms = now_ms - age,
        .revenue_micros = (int64_t)(b % 5000000),
        .event_id = str_of(to->event_id),
        .client_id = fill.clients[at]->id,
        .panelist_id = str_of(to->panelist_id),
        .session_id = STR("session-0123456789abcdef"),
    };
    set_type(&c, number, a >> 20);
    c.key = event_key(store_hash_secret(fill.store), c.terms->account_no, c.event_id);
    c.content = b;
    return c;
}

static struct outcome end_of(const struct candidate *c, int64_t at_ms, uint64_t event_no)
{
    bool dead = event_no % 5000 == 0;
    return (struct outcome){
        .account_no = c->terms->account_no,
        .event_no = event_no,
        .lane = lane_of(c->terms->app_no, event_lane(c->type)),
        .has_attempt = true,
        .attempt = {.number = 1,
                    .at_ms = at_ms,
                    .duration_ms = 12,
                    .status = dead ? 410 : 200,
                    .class = dead ? ATTEMPT_GONE : ATTEMPT_OK,
                    .url = STR("https://callbacks.partner.example/rewards"),
                    .response_headers = STR("Content-Length: 2\n"),
                    .response_body = STR("ok")},
        .state = dead ? CALLBACK_DEAD : CALLBACK_DELIVERED,
        .reason = dead ? REASON_GONE : REASON_NONE,
    };
}

static void give_back(struct flight *f)
{
    pthread_mutex_lock(&fill.mutex);
    if (f->batch.status == STORE_OK)
        fill.accepted += f->batch.count;
    fill.free[fill.free_count++] = f;
    pthread_cond_signal(&fill.wake);
    pthread_mutex_unlock(&fill.mutex);
}

static void ends_done(struct task *task)
{
    give_back(CONTAINER_OF(task, struct flight, outcomes.done));
}

static void flight_done(struct task *task)
{
    struct flight *f = (struct flight *)(void *)CONTAINER_OF(task, struct intake_batch, done);
    if (!fill.tried || f->batch.status != STORE_OK) {
        give_back(f);
        return;
    }
    size_t count = 0;
    for (size_t i = 0; i < f->batch.count; i++)
        if (f->items[i].deliver)
            f->ends[count++] =
                end_of(&f->items[i], f->batch.received_ms, f->batch.verdicts[i].event_no);
    if (count == 0) {
        give_back(f);
        return;
    }
    f->outcomes = (struct outcome_batch){
        .done = {.run = ends_done},
        .reply_to = &fill.executor,
        .items = f->ends,
        .count = count,
    };
    store_record(fill.store, &f->outcomes);
}

/* NULL: none came back within FULL_AFTER_S. */
static struct flight *take_flight(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += FULL_AFTER_S;
    pthread_mutex_lock(&fill.mutex);
    int code = 0;
    while (fill.free_count == 0 && code == 0)
        code = pthread_cond_timedwait(&fill.wake, &fill.mutex, &until);
    struct flight *f = fill.free_count > 0 ? fill.free[--fill.free_count] : NULL;
    pthread_mutex_unlock(&fill.mutex);
    return f;
}

static void submit(struct flight *f, size_t count)
{
    int64_t now_ms = env_wall_ms(env_real());
    arena_free(&f->batch.arena);
    for (size_t i = 0; i < count; i++)
        f->items[i] = generate(&f->texts[i], now_ms);
    f->batch = (struct intake_batch){
        .done = {.run = flight_done},
        .reply_to = &fill.executor,
        .items = f->items,
        .count = count,
        .received_ms = now_ms,
    };
    store_submit(fill.store, &f->batch);
}

static void fill_up(size_t wanted)
{
    for (size_t asked = 0; asked < wanted;) {
        struct flight *f = take_flight();
        if (!f)
            continue; /* a long checkpoint */
        size_t count = wanted - asked < BATCH ? wanted - asked : BATCH;
        submit(f, count);
        asked += count;
    }
    pthread_mutex_lock(&fill.mutex);
    while (fill.free_count < FLIGHTS)
        pthread_cond_wait(&fill.wake, &fill.mutex);
    pthread_mutex_unlock(&fill.mutex);
    if (fill.accepted != wanted)
        give_up("the store refused some");
}

/* Until everything acknowledged is in SQLite: a report sees it all. */
static void report_done(struct task *task)
{
    struct report_query *query = CONTAINER_OF(task, struct report_query, done);
    free(query->rows);
    pthread_mutex_lock(&fill.mutex);
    fill.answered = true;
    pthread_cond_signal(&fill.wake);
    pthread_mutex_unlock(&fill.mutex);
}

/* A report of no account waits until what there is of all accounts is in SQLite. */
static void wait_applied(void)
{
    struct report_query query = {
        .done = {.run = report_done},
        .reply_to = &fill.executor,
        .after_day = INT32_MIN,
        .limit = 1,
    };
    fill.answered = false;
    store_report(fill.store, &query);
    pthread_mutex_lock(&fill.mutex);
    while (!fill.answered)
        pthread_cond_wait(&fill.wake, &fill.mutex);
    pthread_mutex_unlock(&fill.mutex);
}

static void fill_log(const char *directory)
{
    struct buf path = {0};
    sqlite3 *db = NULL;
    submit(take_flight(), 1); /* the memtable that an open store begins with is applied at once */
    wait_applied();
    buf_printf(&path, "%s/postbackd.db", directory);
    if (sqlite3_open(buf_c(&path), &db) != SQLITE_OK ||
        sqlite3_busy_timeout(db, 60000) != SQLITE_OK || /* runs may be merged */
        sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        give_up(sqlite3_errmsg(db));
    for (struct flight *f; (f = take_flight()) != NULL;) {
        if (f->batch.status != STORE_OK && f->batch.count > 0)
            break;
        submit(f, BATCH);
    }
    pthread_mutex_lock(&fill.mutex);
    printf("{\"accepted\": %zu}\n", fill.accepted);
    fflush(stdout);
    kill(getpid(), SIGKILL);
    pause();
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr,
                "usage: fill DIR CALLBACKS FIRST CLIENTS [log | log-of-callbacks [DAYS]]\n");
        return 2;
    }
    fill.wanted = strtoul(argv[2], NULL, 10);
    uint64_t seed;
    env_random(env_real(), &seed, sizeof seed);
    rng_seed(&fill.rng, seed);
    fill.executor.post = run_post;
    fill.sink.owed = let_go;
    pthread_mutex_init(&fill.mutex, NULL);
    pthread_cond_init(&fill.wake, NULL);
    fill.tried = argc > 5 && strcmp(argv[5], "log-of-callbacks") == 0;
    fill.span_ms = argc > 6 ? strtol(argv[6], NULL, 10) * DAY_MS : 0;
    fill.panelists = fill.tried ? fill.wanted / CALLBACKS_OF_PANELIST + 1 : PANELISTS;
    open_store(argv[1]);
    find_clients(strtoul(argv[3], NULL, 10), strtoul(argv[4], NULL, 10));
    for (size_t i = 0; i < FLIGHTS; i++)
        fill.free[fill.free_count++] = xcalloc(1, sizeof(struct flight));
    fill_up(fill.wanted);
    wait_applied();
    if (argc > 5 && !fill.tried)
        fill_log(argv[1]);
    printf("{\"accepted\": %zu}\n", fill.accepted);
    store_close(fill.store);
    return 0;
}
