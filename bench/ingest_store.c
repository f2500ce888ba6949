/*
 * Durable ingest: events a second that the store has made durable and written to SQLite, in
 * batches of 256, beside a plain SQLite loop that inserts the same rows in the same batches.
 *
 *     build/bench/bench_ingest_store [EVENTS] [PRELOADED] [BATCHES IN FLIGHT] [PARTS]
 *
 * Both write events, bodies, keys, panelists, report rows, active panelists and owed callbacks,
 * with random EventIds, 100 accounts, 5 clients each, 100,000 panelists. The loop is tuned: WAL,
 * synchronous FULL (each batch is durable before the next), statements kept, reports summed per
 * batch, 1.5 GB of cache, a checkpoint every 100,000 pages. The store's time ends when all is in
 * SQLite too, so that nothing is left to be done later. A third figure has every callback's
 * delivery recorded as well, with its attempt. PARTS: s, r, p for the three, default srp;
 * a asks for a report ten times a second beside the first.
 *
 * With SCENARIO_POSTGRESQL (tests/scenario/postgresql.py run ...) the store is on that server, in
 * the database that it names, which should be empty.
 */
#include "ingest_store.h"

#include <dirent.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

static int64_t cpu_us(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * INT64_C(1000000) + u.ru_utime.tv_usec +
           u.ru_stime.tv_usec;
}

static bool first_line(const char *path, char *to, int size)
{
    FILE *file = fopen(path, "re");
    bool good = file && fgets(to, size, file);
    if (file)
        fclose(file);
    return good;
}

/* What the kernel has counted for the store's applier: it is the largest part of a store's cost. */
static int64_t applier_us(void)
{
    int64_t us = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        char path[300], line[100];
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        if (!first_line(path, line, sizeof line) || strcmp(line, "store-applier\n") != 0)
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", task->d_name);
        if (first_line(path, line, sizeof line))
            us = strtoll(line, NULL, 10) / 1000;
    }
    if (tasks)
        closedir(tasks);
    return us;
}

static void print_rate(const char *what, size_t events, int64_t ns, int64_t cpu)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    printf("%-28s %9.0f events/s  %6.2f CPU us/event  peak RSS %ld MB\n", what,
           (double)events * 1e9 / (double)ns, (double)cpu / (double)events, u.ru_maxrss / 1024);
    fflush(stdout);
}

/* --- the store -------------------------------------------------------------------------------- */

struct flight {
    struct intake_batch batch;
    struct candidate items[BATCH];
    struct generated texts[BATCH];
};

struct run {
    struct executor executor;
    struct owed_sink sink;
    struct store *store;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    size_t free_flights, capacity;
    struct flight *flights[64];
    size_t outcomes_open;
    bool record;
    atomic_bool over;
};

static void run_post(struct executor *executor, struct task *task)
{
    (void)executor;
    task->run(task);
}

static struct run run;

static void flight_done(struct task *task)
{
    struct flight *f = (struct flight *)(void *)CONTAINER_OF(task, struct intake_batch, done);
    pthread_mutex_lock(&run.mutex);
    run.flights[run.free_flights++] = f;
    pthread_cond_signal(&run.wake);
    pthread_mutex_unlock(&run.mutex);
}

static void outcomes_done(struct task *task)
{
    struct outcome_batch *b = CONTAINER_OF(task, struct outcome_batch, done);
    arena_free(&b->arena);
    free(b);
    pthread_mutex_lock(&run.mutex);
    run.outcomes_open--;
    pthread_cond_signal(&run.wake);
    pthread_mutex_unlock(&run.mutex);
}

/* Headers as they are sent and answered: those of one receiver differ in a few lines. */
static struct str request_headers(struct arena *arena, const struct callback *c)
{
    struct buf text = {0};
    buf_printf(&text,
               "Host: partner.example\nUser-Agent: postbackd/0.1.0\n"
               "Content-Type: application/json\nAccept-Encoding: identity\nwebhook-id: %.*s\n"
               "webhook-timestamp: %lld\nwebhook-signature: v1,K5oZfzN95Z9UVu1EsfQmfVNQhn%06llu"
               "o9NDN/H/pI4=\nPostbackd-Attempt: 1\nPostbackd-Event-Time: ",
               STR_ARG(c->event_id), (long long)c->accepted_ms / 1000,
               (unsigned long long)c->event_no % 1000000);
    clock_print(&text, c->occurred_ms);
    buf_printf(&text, "\nContent-Length: %zu\n", c->body.n);
    struct str kept = arena_str(arena, buf_str(&text));
    buf_free(&text);
    return kept;
}

static void fill_outcome(struct arena *arena, struct outcome *o, const struct callback *c)
{
    *o = (struct outcome){
        .account_no = c->account_no,
        .event_no = c->event_no,
        .lane = lane_of(c->app_no, c->lane),
        .has_attempt = true,
        .attempt = {.number = 1,
                    .at_ms = c->accepted_ms,
                    .duration_ms = 12,
                    .status = 200,
                    .url = STR("https://partner.example/callback?x=1"),
                    .detail = STR(""),
                    .request_headers = request_headers(arena, c),
                    .response_headers = STR("Server: nginx/1.22.1\n"
                                            "Date: Fri, 21 Nov 2025 12:00:00 GMT\n"
                                            "Content-Type: text/plain\nContent-Length: 2\n"
                                            "Connection: keep-alive\n"),
                    .response_body = STR("ok")},
        .state = CALLBACK_DELIVERED,
    };
}

static void owed(struct owed_sink *sink, struct callback **callbacks, size_t count)
{
    (void)sink;
    if (run.record) {
        struct outcome_batch *b = xcalloc(1, sizeof *b);
        b->done.run = outcomes_done;
        b->reply_to = &run.executor;
        b->count = count;
        b->items = arena_alloc(&b->arena, count * sizeof *b->items);
        for (size_t i = 0; i < count; i++)
            fill_outcome(&b->arena, &b->items[i], callbacks[i]);
        for (size_t i = 0; i < count; i++)
            b->items[i].fence = leases_fence(store_leases(run.store), b->items[i].lane);
        pthread_mutex_lock(&run.mutex);
        run.outcomes_open++;
        pthread_mutex_unlock(&run.mutex);
        store_record(run.store, b);
    }
    for (size_t i = 0; i < count; i++)
        callback_free(callbacks[i]);
}

static void wait_idle(void)
{
    pthread_mutex_lock(&run.mutex);
    while (run.free_flights < run.capacity || run.outcomes_open > 0)
        pthread_cond_wait(&run.wake, &run.mutex);
    pthread_mutex_unlock(&run.mutex);
}

static void submit(struct flight *f, size_t seed)
{
    arena_free(&f->batch.arena);
    const struct hash_secret *secret = store_hash_secret(run.store);
    for (size_t i = 0; i < BATCH; i++)
        f->items[i] = generate(seed + i, secret, &f->texts[i]);
    f->batch = (struct intake_batch){
        .done = {.run = flight_done},
        .reply_to = &run.executor,
        .items = f->items,
        .count = BATCH,
        .received_ms = env_wall_ms(env_real()),
    };
    store_submit(run.store, &f->batch);
}

struct asked {
    struct report_query query;
    bool done;
};

static void report_done(struct task *task)
{
    struct asked *a = (struct asked *)(void *)CONTAINER_OF(task, struct report_query, done);
    free(a->query.rows);
    pthread_mutex_lock(&run.mutex);
    a->done = true;
    pthread_cond_broadcast(&run.wake);
    pthread_mutex_unlock(&run.mutex);
}

/* A report of no account waits until what there is of all accounts is in SQLite. */
static void wait_applied(void)
{
    struct asked a = {.query = {.done = {.run = report_done},
                                .reply_to = &run.executor,
                                .first_day = 1,
                                .last_day = 1,
                                .after_day = INT32_MIN,
                                .limit = 1}};
    store_report(run.store, &a.query);
    pthread_mutex_lock(&run.mutex);
    while (!a.done)
        pthread_cond_wait(&run.wake, &run.mutex);
    pthread_mutex_unlock(&run.mutex);
}

/* Asks for a report ten times a second, until the run is over. */
static void *ask_reports(void *arg)
{
    (void)arg;
    int64_t most_ns = 0, sum_ns = 0, count = 0;
    while (!atomic_load(&run.over)) {
        int64_t start_ns = mono_ns();
        wait_applied();
        int64_t ns = mono_ns() - start_ns;
        most_ns = ns > most_ns ? ns : most_ns;
        sum_ns += ns;
        count++;
        struct timespec pause = {.tv_nsec = 100000000};
        nanosleep(&pause, NULL);
    }
    printf("%lld reports meanwhile, %.0f ms each, %.0f at most\n", (long long)count,
           (double)sum_ns / 1e6 / (double)count, (double)most_ns / 1e6);
    return NULL;
}

static void ingest(size_t from, size_t events)
{
    for (size_t at = 0; at < events; at += BATCH) {
        pthread_mutex_lock(&run.mutex);
        while (run.free_flights == 0)
            pthread_cond_wait(&run.wake, &run.mutex);
        struct flight *f = run.flights[--run.free_flights];
        pthread_mutex_unlock(&run.mutex);
        ASSERT(f->batch.status == STORE_OK);
        submit(f, from + at);
    }
    wait_idle();
    wait_applied();
}

static struct store *open_store(const char *directory, char **ret_why)
{
    struct store_retention retention = {90, 30, 91};
    struct sqlite_store_options sqlite = {
        .directory = directory,
        .disk = disk_real(),
        .env = env_real(),
        .retention = retention,
    };
    struct postgresql_store_options postgresql = {
        .uri = getenv("SCENARIO_POSTGRESQL"),
        .env = env_real(),
        .retention = retention,
    };
    return postgresql.uri ? postgresql_store_open(&postgresql, ret_why)
                          : sqlite_store_open(&sqlite, ret_why);
}

static void bench_store(const char *directory, size_t events, size_t preloaded, char part)
{
    static const char *const names[] = {"store", "store, deliveries recorded",
                                        "store, and reports asked"};
    char *why = NULL;
    run.store = open_store(directory, &why);
    if (!run.store) {
        printf("%s\n", why);
        exit(1);
    }
    run.record = part == 'r';
    store_start(run.store, &run.sink);
    ingest(0, preloaded);
    int64_t start_ns = mono_ns(), start_cpu = cpu_us(), start_applier = applier_us();
    pthread_t asker;
    atomic_store(&run.over, false);
    if (part == 'a')
        ASSERT(pthread_create(&asker, NULL, ask_reports, NULL) == 0);
    ingest(preloaded, events);
    print_rate(names[part == 'r'   ? 1
                     : part == 'a' ? 2
                                   : 0],
               events, mono_ns() - start_ns, cpu_us() - start_cpu);
    if (start_applier > 0)
        printf("%-28s %26.2f CPU us/event\n", "of it the applier",
               (double)(applier_us() - start_applier) / (double)events);
    atomic_store(&run.over, true);
    if (part == 'a')
        ASSERT(pthread_join(asker, NULL) == 0);
    store_close(run.store);
}

/* --- the run -----------------------------------------------------------------------------------
 */

static size_t argument(int argc, char **argv, int at, size_t otherwise)
{
    size_t n = argc > at ? strtoul(argv[at], NULL, 10) : otherwise;
    return (n + BATCH - 1) / BATCH * BATCH;
}

int main(int argc, char **argv)
{
    size_t events = argument(argc, argv, 1, 500000), preloaded = argument(argc, argv, 2, 500000);
    run.capacity = argc > 3 ? strtoul(argv[3], NULL, 10) : 4;
    run.executor.post = run_post;
    run.sink.owed = owed;
    ASSERT(pthread_mutex_init(&run.mutex, NULL) == 0);
    ASSERT(pthread_cond_init(&run.wake, NULL) == 0);
    for (size_t i = 0; i < run.capacity && i < ARRAY_LEN(run.flights); i++)
        run.flights[run.free_flights++] = xcalloc(1, sizeof(struct flight));
    run.capacity = run.free_flights;
    generate_prepare();
    char directory[] = "bench-ingest-XXXXXX";
    ASSERT(mkdtemp(directory) != NULL);
    printf("%zu events after %zu, batches of %d, %zu in flight\n", events, preloaded, BATCH,
           run.capacity);
    const char *parts = argc > 4 ? argv[4] : "srp";
    for (const char *part = "sra"; *part; part++) {
        if (!strchr(parts, *part))
            continue;
        struct buf path = {0};
        buf_printf(&path, "%s/store-%c", directory, *part);
        bench_store(buf_c(&path), events, preloaded, *part);
        buf_free(&path);
    }
    if (strchr(parts, 'p')) {
        int64_t cpu = 0, ns = bare_sqlite(directory, events, preloaded, cpu_us, &cpu);
        print_rate("plain SQLite loop", events, ns, cpu);
    }
    remove_tree(directory);
    for (size_t i = 0; i < run.free_flights; i++) {
        arena_free(&run.flights[i]->batch.arena);
        free(run.flights[i]);
    }
    return 0;
}
