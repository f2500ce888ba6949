/* The store's clock, disk and events. */
#include "sqlite_store.h"

void waiter_post(struct executor *executor, struct task *task)
{
    task->run(task);
    struct waiter *w = CONTAINER_OF(executor, struct waiter, executor);
    pthread_mutex_lock(&w->mutex);
    w->done++;
    pthread_cond_broadcast(&w->wake);
    pthread_mutex_unlock(&w->mutex);
}

struct waiter waiter = {{waiter_post}, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

void nothing(struct task *task)
{
    (void)task;
}

void await(void)
{
    pthread_mutex_lock(&waiter.mutex);
    while (waiter.done == 0)
        pthread_cond_wait(&waiter.wake, &waiter.mutex);
    waiter.done--;
    pthread_mutex_unlock(&waiter.mutex);
}

static void sink_owed(struct owed_sink *to, struct callback **callbacks, size_t count)
{
    struct test_sink *t = CONTAINER_OF(to, struct test_sink, sink);
    pthread_mutex_lock(&t->mutex);
    for (size_t i = 0; i < count; i++) {
        if (t->count < ARRAY_LEN(t->items))
            t->items[t->count++] = callbacks[i];
        else
            callback_free(callbacks[i]);
    }
    pthread_mutex_unlock(&t->mutex);
}

struct test_sink sink = {.sink = {sink_owed}, .mutex = PTHREAD_MUTEX_INITIALIZER};

void sink_clear(void)
{
    pthread_mutex_lock(&sink.mutex);
    for (size_t i = 0; i < sink.count; i++)
        callback_free(sink.items[i]);
    sink.count = 0;
    pthread_mutex_unlock(&sink.mutex);
}

char directory[64];

struct store *store;

void remove_tree(const char *path)
{
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        struct buf b = {0};
        buf_printf(&b, "%s/%s", path, e->d_name);
        const char *child = buf_c(&b);
        bool self = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
        if (!self && unlink(child) != 0)
            remove_tree(child);
        buf_free(&b);
    }
    if (d)
        closedir(d);
    rmdir(path);
}

_Atomic int64_t wall_now_ms = NOW_MS;

static int64_t test_wall_ms(struct env *env)
{
    (void)env;
    return wall_now_ms;
}

atomic_bool mono_stands_still;

_Atomic int64_t mono_added_ms;

static int64_t test_mono_ms(struct env *env)
{
    (void)env;
    return mono_stands_still ? 1000000 : env_mono_ms(env_real()) + mono_added_ms;
}

static void test_random_bytes(struct env *env, void *to, size_t n)
{
    (void)env;
    env_random(env_real(), to, n);
}

struct env test_env = {test_wall_ms, test_mono_ms, test_random_bytes};

_Atomic bool syncs_fail;

struct disk test_disk;

int (*_Atomic test_open_hook)(struct disk *, const char *, bool, bool);

int (*_Atomic test_sync_hook)(struct disk *, int);

ssize_t (*_Atomic test_read_hook)(struct disk *, int, void *, size_t, int64_t);

ssize_t (*_Atomic test_write_hook)(struct disk *, int, const void *, size_t, int64_t);

static int test_open(struct disk *disk, const char *path, bool create, bool direct)
{
    (void)disk;
    int (*hook)(struct disk *, const char *, bool, bool) = test_open_hook;
    return (hook ? hook : disk_real()->open)(disk_real(), path, create, direct);
}

static int test_sync_file(struct disk *disk, int fd)
{
    (void)disk;
    int (*hook)(struct disk *, int) = test_sync_hook;
    return syncs_fail ? -5 /* EIO */ : (hook ? hook : disk_real()->sync_file)(disk_real(), fd);
}

static ssize_t test_read_at(struct disk *disk, int fd, void *to, size_t n, int64_t offset)
{
    (void)disk;
    ssize_t (*hook)(struct disk *, int, void *, size_t, int64_t) = test_read_hook;
    return (hook ? hook : disk_real()->read_at)(disk_real(), fd, to, n, offset);
}

static ssize_t test_write_at(struct disk *disk, int fd, const void *from, size_t n, int64_t offset)
{
    (void)disk;
    ssize_t (*hook)(struct disk *, int, const void *, size_t, int64_t) = test_write_hook;
    return (hook ? hook : disk_real()->write_at)(disk_real(), fd, from, n, offset);
}

size_t test_segment_bytes, test_group_bytes, test_memtable_bytes;

int test_checkpoint_pages;

int64_t test_scrub_interval_ms;

struct store *open_store(char **ret_why)
{
    if (!test_disk.open) {
        test_disk = *disk_real();
        test_disk.open = test_open;
        test_disk.sync_file = test_sync_file;
        test_disk.read_at = test_read_at;
        test_disk.write_at = test_write_at;
    }
    struct sqlite_store_options options = {
        .directory = directory,
        .disk = &test_disk,
        .env = &test_env,
        .retention = {90, 30, 91},
        .journal_segment_bytes = test_segment_bytes,
        .checkpoint_pages = test_checkpoint_pages,
        .scrub_interval_ms = test_scrub_interval_ms,
        .group_bytes = test_group_bytes,
        .memtable_bytes = test_memtable_bytes,
    };
    return sqlite_store_open(&options, ret_why);
}

void reopen(void)
{
    char *why = NULL;
    if (store)
        store_close(store);
    store = open_store(&why);
    if (!store) {
        printf("%s\n", why);
        abort();
    }
    store_start(store, &sink.sink);
}

void begin(void)
{
    strcpy(directory, "/tmp/postbackd-test-XXXXXX");
    ASSERT(mkdtemp(directory) != NULL);
    reopen();
}

void end(void)
{
    store_close(store);
    store = NULL;
    sink_clear();
    remove_tree(directory);
}

const struct app_terms terms = {
    .account_no = 7,
    .app_no = 11,
    .currency_micros = 100 * MICROS_PER_UNIT,
    .disqualification_reward_micros = 500000,
    .disqualification_cap = 2,
    .reward_decimals = 2,
    .has_url = {false, true, true, true},
};

struct candidate make(enum event_type type, const char *event_id, const char *panelist)
{
    struct candidate c = {
        .terms = &terms,
        .client_no = 3,
        .integration = INTEGRATION_SDK,
        .type = type,
        .deliver = true,
        .occurred_ms = NOW_MS,
        .event_id = str_of(event_id),
        .client_id = STR("c_1"),
        .panelist_id = str_of(panelist),
    };
    c.key = event_key(store_hash_secret(store), terms.account_no, c.event_id);
    c.content = hash_key128(store_hash_secret(store), panelist, panelist ? strlen(panelist) : 0).lo;
    if (type == EVENT_SURVEY_COMPLETED || type == EVENT_OFFER_COMPLETED) {
        c.has_revenue = true;
        c.revenue_micros = 1250000;
    }
    if (event_type_is_offer(type)) {
        c.offer_id = 5;
        c.offer_title = STR("An offer");
    }
    return c;
}

struct verdict submit_at(struct candidate c, int64_t received_ms)
{
    struct intake_batch batch = {.items = &c, .count = 1, .received_ms = received_ms};
    ASK(store_submit, store, &batch);
    CHECK_EQ_INT(batch.status, STORE_OK);
    struct verdict v = batch.verdicts[0];
    arena_free(&batch.arena);
    return v;
}

struct verdict submit(struct candidate c)
{
    return submit_at(c, NOW_MS);
}

enum store_status try_to_submit(const char *event_id)
{
    struct candidate c = make(EVENT_SURVEY_COMPLETED, event_id, "ann");
    struct intake_batch batch = {.items = &c, .count = 1, .received_ms = NOW_MS};
    ASK(store_submit, store, &batch);
    arena_free(&batch.arena);
    return batch.status;
}

struct verdict submit_new(enum event_type type, const char *event_id, const char *panelist)
{
    return submit(make(type, event_id, panelist));
}

void record(uint64_t event_no, enum lane_kind lane, enum callback_state state, int64_t due_ms,
            int number)
{
    struct outcome o = {
        .account_no = terms.account_no,
        .event_no = event_no,
        .lane = lane_of(terms.app_no, lane),
        .has_attempt = number > 0,
        .attempt = {.number = number,
                    .at_ms = NOW_MS + number,
                    .status = 500,
                    .class = ATTEMPT_STATUS,
                    .url = STR("http://127.0.0.1/"),
                    .detail = STR("it said 500"),
                    .response_body = STR("no\0body")},
        .state = state,
        .reason = state == CALLBACK_SKIPPED ? REASON_NO_URL
                  : state == CALLBACK_DEAD  ? REASON_ATTEMPTS
                                            : REASON_NONE,
        .place = {number, number, due_ms},
    };
    struct outcome_batch batch = {.items = &o, .count = 1};
    ASK(store_record, store, &batch);
    CHECK_EQ_INT(batch.status, STORE_OK);
}

const char *page(enum lane_kind lane, int64_t until_ms, struct due_page *ret)
{
    static char text[512];
    *ret = (struct due_page){
        .lane = lane_of(terms.app_no, lane), .due_until_ms = until_ms, .limit = 10};
    ASK(store_page, store, ret);
    CHECK_EQ_INT(ret->status, STORE_OK);
    text[0] = '\0';
    for (size_t i = 0; i < ret->count; i++) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%s%" PRIu64, i ? " " : "", ret->items[i]->event_no);
        callback_free(ret->items[i]);
    }
    free(ret->items);
    return text;
}

struct callback_get get(const char *event_id)
{
    struct callback_get g = {.account_no = terms.account_no, .event_id = str_of(event_id)};
    ASK(store_get_callback, store, &g);
    return g;
}

size_t attempts_of(const char *event_id)
{
    struct callback_get g = get(event_id);
    CHECK_EQ_INT(g.status, STORE_OK);
    size_t count = g.row.log_count;
    arena_free(&g.arena);
    return count;
}

struct report_row report(bool include_test)
{
    struct report_query q = {
        .account_no = terms.account_no,
        .first_day = clock_day(NOW_MS) - 1,
        .last_day = clock_day(NOW_MS) + 1,
        .include_test = include_test,
        .after_day = INT32_MIN,
        .limit = 10,
    };
    ASK(store_report, store, &q);
    CHECK_EQ_INT(q.status, STORE_OK);
    CHECK_EQ_UINT(q.count, 1);
    struct report_row row = q.count > 0 ? q.rows[0] : (struct report_row){0};
    free(q.rows);
    return row;
}
