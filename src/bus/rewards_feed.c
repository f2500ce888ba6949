/* One thread. It joins the group; while it has partition 0 of the cursors' topic, it has a term. At
 * the beginning of a term it first fences the former writer, then reads the cursors to their end:
 * in this order nothing can be added meanwhile. Then it passes through all partners, one page each,
 * and rests: the longer a pass took, the longer. */
#include "bus/rewards_feed.h"

#include "base/alloc.h"
#include "base/log.h"
#include "bus/rewards_writer.h"
#include "services/cursor.h"
#include "services/reward_json.h"

#include <stdlib.h>

#define REWARDS_FEED_MAGIC 0xB0500002u
#define POLL_MS 200
#define RETRY_MS 1000
#define PAGE_REWARDS 500
#define TRANSACTION_REWARDS 2000
#define ASK_END_MS 5000
#define TRANSACTION_MS 2000 /* the broker aborts one after a minute */
/* The rest between two passes: for many partners without news it keeps one reader busy for a tenth
 * of the time, or more if a pass takes longer than a second. */
#define REST_LEAST_MS 500
#define REST_MOST_MS 10000
#define REST_TIMES 9

struct reached {
    uint32_t account_no;
    struct feed_place place;
};

struct rewards_feed {
    uint32_t magic;
    struct env *env;
    struct store *store;
    struct directory *directory;
    struct control *control;
    char *topic, *cursors_topic;
    rd_kafka_t *reader;
    struct rewards_writer writer;
    struct broker_link link;
    struct waiter waiter;
    pthread_t thread;
    bool is_started;
    atomic_bool stopping;
    bool is_reading, is_read;   /* the cursors */
    struct feed_place *cursors; /* by account, committed */
    size_t cursor_room;
    struct reached *reached; /* by the open transaction, each account once */
    size_t reached_count, reached_room, rewards;
    int64_t begun_mono_ms; /* time of the transaction's first page */
    int64_t next_mono_ms;  /* time of the next pass or try */
    struct {
        atomic_bool is_writing;
        atomic_llong rewards, complete_mono_ms;
    } numbers;
};

static bool is_stopping(const struct rewards_feed *f)
{
    return atomic_load(&f->stopping);
}

/* --- the term --------------------------------------------------------------------------------- */

static void end_term(struct rewards_feed *f)
{
    rewards_writer_close(&f->writer);
    f->is_reading = f->is_read = false;
    f->reached_count = f->rewards = 0;
}

static void set_cursor(struct rewards_feed *f, uint32_t account_no, struct feed_place place)
{
    size_t before = f->cursor_room;
    f->cursors = xgrow(f->cursors, &f->cursor_room, account_no + 1, sizeof *f->cursors);
    memset(f->cursors + before, 0, (f->cursor_room - before) * sizeof *f->cursors);
    f->cursors[account_no] = place;
}

static struct feed_place cursor_of(const struct rewards_feed *f, uint32_t account_no)
{
    return account_no < f->cursor_room ? f->cursors[account_no] : (struct feed_place){0};
}

/* Partition 0 of the cursors' topic. */
static rd_kafka_topic_partition_list_t *place(const struct rewards_feed *f, int64_t offset)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, f->cursors_topic, 0)->offset = offset;
    return list;
}

static void read_cursors(struct rewards_feed *f)
{
    rd_kafka_topic_partition_list_t *list = place(f, RD_KAFKA_OFFSET_BEGINNING);
    if (f->cursor_room)
        memset(f->cursors, 0, f->cursor_room * sizeof *f->cursors);
    rd_kafka_resume_partitions(f->reader, list); /* librdkafka keeps it paused over assignments */
    rd_kafka_assign(f->reader, list);
    rd_kafka_topic_partition_list_destroy(list);
    f->is_reading = true;
    f->is_read = false;
}

static void end_reading(struct rewards_feed *f)
{
    rd_kafka_topic_partition_list_t *list = place(f, RD_KAFKA_OFFSET_INVALID);
    rd_kafka_pause_partitions(f->reader, list); /* later messages are our own */
    rd_kafka_topic_partition_list_destroy(list);
    f->is_read = true;
    f->next_mono_ms = 0;
    log_info("rewards_feed_begun", LOG_C("topic", f->topic));
}

/* A partner's last cursor is valid; one without a value restarts its feed. Ignores cursors of
 * unknown partners, which belong to another installation. */
static void take_cursor(struct rewards_feed *f, const rd_kafka_message_t *m)
{
    struct feed_place at = {0};
    struct str text = {m->payload, m->len};
    struct partner *p =
        m->key ? directory_partner(f->directory, (struct str){m->key, m->key_len}) : NULL;
    if (p && (!text.p || feed_cursor_parse(text, p->account_no, &at)))
        set_cursor(f, p->account_no, at);
    partner_unref(p);
}

/* Reads again from the beginning, later. */
static void read_later(struct rewards_feed *f)
{
    f->is_reading = false;
    f->next_mono_ms = env_mono_ms(f->env) + RETRY_MS;
}

/* A broker that has just become leader may briefly serve less than is committed, and call that the
 * end. When asked for the end it waits until it knows (KIP-207). */
static bool is_end(const struct rewards_feed *f, int64_t offset)
{
    int64_t first, end;
    return rd_kafka_query_watermark_offsets(f->reader, f->cursors_topic, 0, &first, &end,
                                            ASK_END_MS) == RD_KAFKA_RESP_ERR_NO_ERROR &&
           offset >= end;
}

static void take_message(struct rewards_feed *f, const rd_kafka_message_t *m)
{
    bool is_read_now = f->is_reading && !f->is_read;
    if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF && is_read_now && is_end(f, m->offset))
        end_reading(f);
    else if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF && is_read_now)
        read_later(f);
    else if (m->err && m->err != RD_KAFKA_RESP_ERR__PARTITION_EOF)
        broker_link_error(&f->link, m->err, rd_kafka_message_errstr(m));
    else if (!m->err && is_read_now)
        take_cursor(f, m);
}

/* Runs librdkafka's callbacks. */
static void poll_clients(struct rewards_feed *f, int wait_ms)
{
    rd_kafka_message_t *m = rd_kafka_consumer_poll(f->reader, wait_ms);
    if (m) {
        take_message(f, m);
        rd_kafka_message_destroy(m);
    }
    if (f->writer.producer)
        rd_kafka_poll(f->writer.producer, 0);
}

static void on_error(rd_kafka_t *rk, int code, const char *reason, void *context)
{
    struct rewards_feed *f = context;
    (void)rk;
    broker_link_error(&f->link, code, reason);
}

static void on_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t error,
                         rd_kafka_topic_partition_list_t *partitions, void *context)
{
    struct rewards_feed *f = context;
    bool is_assigned = error == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
    bool is_ours =
        is_assigned && rd_kafka_topic_partition_list_find(partitions, f->cursors_topic, 0) != NULL;
    for (int i = 0; is_assigned && i < partitions->cnt; i++)
        partitions->elems[i].offset = RD_KAFKA_OFFSET_END; /* read once the writer is ready */
    rd_kafka_assign(rk, is_assigned ? partitions : NULL);
    if (is_assigned)
        broker_link_up(&f->link);
    f->is_reading = f->is_read = false;
    f->next_mono_ms = 0;
    atomic_store(&f->numbers.complete_mono_ms, env_mono_ms(f->env));
    atomic_store(&f->numbers.is_writing, is_ours);
}

/* True if rewards may be written. */
static bool prepare(struct rewards_feed *f)
{
    char why[512];
    if (f->writer.is_lost)
        end_term(f);
    if (!f->writer.producer && !rewards_writer_open(&f->writer, why, sizeof why)) {
        broker_link_error(&f->link, RD_KAFKA_RESP_ERR__FAIL, why);
        return false;
    }
    if (!rewards_writer_begin_term(&f->writer))
        return false;
    if (f->is_reading)
        return f->is_read;
    /* Only other nodes may know some partners with cursors. */
    if (store_leases(f->store) && bus_catch_up(f->control, &f->waiter, f->env) != STORE_OK)
        return false;
    read_cursors(f);
    f->next_mono_ms = 0;
    return false;
}

/* --- rewards ---------------------------------------------------------------------------------- */

static bool commit(struct rewards_feed *f)
{
    bool good = true;
    for (size_t i = 0; i < f->reached_count && good; i++) {
        struct reached r = f->reached[i];
        struct partner *p = directory_partner_by_no(f->directory, r.account_no);
        struct buf cursor = {0};
        ASSERT(p); /* partners are never deleted */
        feed_cursor_print(&cursor, r.account_no, &r.place);
        good = rewards_writer_add(&f->writer, f->cursors_topic, 0, p->id, buf_str(&cursor));
        buf_free(&cursor);
        partner_unref(p);
    }
    if (good)
        good = rewards_writer_commit(&f->writer);
    else
        rewards_writer_abort(&f->writer);
    for (size_t i = 0; i < f->reached_count && good; i++)
        set_cursor(f, f->reached[i].account_no, f->reached[i].place);
    if (good)
        atomic_fetch_add(&f->numbers.rewards, (long long)f->rewards);
    f->reached_count = f->rewards = 0;
    return good;
}

/* False: the client was made by another node, and is unknown here yet. */
static bool print_reward(const struct rewards_feed *f, const struct callback_row *row,
                         struct buf *to)
{
    struct json_writer w;
    struct app *app = directory_app_by_no(f->directory, row->event.app_no);
    struct client *client = directory_client_by_no(f->directory, row->event.client_no);
    bool is_known = app && client;
    json_write_to(&w, to);
    if (is_known) {
        json_object(&w);
        reward_print_members(&w, f->directory, row, app, true);
        json_end_object(&w);
    }
    client_unref(client);
    app_unref(app);
    return is_known;
}

enum page_result { PAGE_WHOLE, PAGE_MORE, PAGE_NOT_READ, PAGE_NOT_WRITTEN };

static enum page_result write_rows(struct rewards_feed *f, const struct partner *p,
                                   const struct callback_list *list)
{
    enum page_result result = list->more ? PAGE_MORE : PAGE_WHOLE;
    struct reached reached = {.account_no = p->account_no};
    if (f->rewards == 0)
        f->begun_mono_ms = env_mono_ms(f->env);
    struct buf json = {0};
    for (size_t i = 0; i < list->count && result < PAGE_NOT_READ; i++) {
        buf_clear(&json);
        if (!print_reward(f, &list->rows[i], &json)) {
            result = PAGE_NOT_READ;
        } else if (!rewards_writer_add(&f->writer, f->topic, RD_KAFKA_PARTITION_UA, p->id,
                                       buf_str(&json))) {
            result = PAGE_NOT_WRITTEN;
        } else {
            const struct event *e = &list->rows[i].event;
            reached.place = (struct feed_place){e->event_no, e->accepted_ms};
            f->rewards++;
        }
    }
    buf_free(&json);
    if (reached.place.event_no) {
        f->reached = xgrow(f->reached, &f->reached_room, f->reached_count + 1, sizeof *f->reached);
        f->reached[f->reached_count++] = reached;
    }
    return result;
}

/* An older backup was restored since: all of the partner's rewards are written again. */
static enum page_result begin_again(struct rewards_feed *f, const struct partner *p)
{
    log_warning("rewards_feed_begins_again", LOG_STR("partner", p->id),
                LOG_C("why", "the store has another reward in the place of the last one written"));
    set_cursor(f, p->account_no, (struct feed_place){0});
    return PAGE_MORE;
}

static enum page_result write_page(struct rewards_feed *f, const struct partner *p)
{
    struct feed_place place = cursor_of(f, p->account_no);
    struct callback_list list = {
        .done.run = waiter_wake,
        .reply_to = &f->waiter.executor,
        .account_no = p->account_no,
        .order = LIST_OLDEST_FIRST,
        .no_bodies = true,
        .may_lag = true,
        .after_event_no = place.event_no,
        .after_accepted_ms = place.accepted_ms,
        .limit = PAGE_REWARDS,
    };
    store_list_callbacks(f->store, &list);
    waiter_wait(&f->waiter);
    enum page_result result = list.status == STORE_OK        ? write_rows(f, p, &list)
                              : list.status == STORE_FOREIGN ? begin_again(f, p)
                                                             : PAGE_NOT_READ;
    arena_free(&list.arena);
    bool is_due = f->rewards >= TRANSACTION_REWARDS ||
                  (f->rewards && env_mono_ms(f->env) - f->begun_mono_ms >= TRANSACTION_MS);
    if (result != PAGE_NOT_WRITTEN && is_due && !commit(f))
        result = PAGE_NOT_WRITTEN;
    return result;
}

static int64_t rest_after(int64_t took_ms)
{
    int64_t rest = took_ms * REST_TIMES;
    return rest < REST_LEAST_MS ? REST_LEAST_MS : rest > REST_MOST_MS ? REST_MOST_MS : rest;
}

/* Writes one page of each partner. */
static void pass(struct rewards_feed *f)
{
    int64_t begin_ms = env_mono_ms(f->env);
    enum page_result worst = PAGE_WHOLE;
    struct partner *p;
    uint32_t before_no = 0;
    while (worst != PAGE_NOT_WRITTEN && f->is_read && !is_stopping(f) &&
           directory_list_partners(f->directory, before_no, &p, 1) > 0) {
        enum page_result result = write_page(f, p);
        worst = result > worst ? result : worst;
        before_no = p->account_no;
        partner_unref(p);
        poll_clients(f, 0);
    }
    if (worst == PAGE_NOT_WRITTEN)
        rewards_writer_abort(&f->writer);
    bool good = worst != PAGE_NOT_WRITTEN && commit(f);
    f->reached_count = f->rewards = 0;
    if (good && worst == PAGE_WHOLE && f->is_read && !is_stopping(f))
        atomic_store(&f->numbers.complete_mono_ms, begin_ms);
    int64_t now_ms = env_mono_ms(f->env);
    f->next_mono_ms = !good                ? now_ms + RETRY_MS
                      : worst == PAGE_MORE ? now_ms
                                           : now_ms + rest_after(now_ms - begin_ms);
}

static void *run(void *context)
{
    struct rewards_feed *f = context;
    CHECK_MAGIC(f, REWARDS_FEED_MAGIC);
    while (!is_stopping(f)) {
        int64_t wait_ms = f->next_mono_ms - env_mono_ms(f->env);
        bool is_due = wait_ms <= 0;
        poll_clients(f, is_due && f->is_read ? 0 : POLL_MS);
        if (!atomic_load(&f->numbers.is_writing))
            end_term(f);
        else if (is_due && prepare(f))
            pass(f);
        else if (is_due && !f->is_reading)
            f->next_mono_ms = env_mono_ms(f->env) + RETRY_MS;
    }
    broker_link_leave(f->reader, f->env);
    return NULL;
}

/* --- life ------------------------------------------------------------------------------------- */

static bool connect_clients(struct rewards_feed *f, struct bus_config *config, char **ret_why)
{
    char why[512] = "";
    rd_kafka_conf_set_opaque(config->reader, f);
    rd_kafka_conf_set_error_cb(config->reader, on_error);
    rd_kafka_conf_set_rebalance_cb(config->reader, on_rebalance);
    rd_kafka_conf_set_log_cb(config->reader, broker_link_log);
    f->cursors_topic = xstrdup(config->cursors);
    f->writer =
        (struct rewards_writer){.conf = config->writer, .link = &f->link, .stopping = &f->stopping};
    config->writer = NULL;
    rewards_writer_set_up(&f->writer);
    if (rewards_writer_open(&f->writer, why, sizeof why))
        f->reader = kafka_client_new(RD_KAFKA_CONSUMER, config->reader, why, sizeof why);
    if (!f->reader) {
        *ret_why = xprintf("kafka-config: %s", why);
        return false;
    }
    config->reader = NULL;
    rd_kafka_poll_set_consumer(f->reader);
    rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(topics, f->cursors_topic, RD_KAFKA_PARTITION_UA);
    rd_kafka_subscribe(f->reader, topics);
    rd_kafka_topic_partition_list_destroy(topics);
    return true;
}

struct rewards_feed *rewards_feed_new(const struct bus_settings *settings, struct env *env,
                                      struct store *store, struct directory *directory,
                                      char **ret_why)
{
    struct bus_config config;
    if (!bus_config_read(&config, settings, ret_why))
        return NULL;
    struct rewards_feed *f = xcalloc(1, sizeof *f);
    f->magic = REWARDS_FEED_MAGIC;
    f->env = env;
    f->store = store;
    f->directory = directory;
    f->topic = xstrdup(settings->rewards_topic);
    f->link.side = "rewards_feed";
    waiter_init(&f->waiter);
    bool good = connect_clients(f, &config, ret_why);
    bus_config_free(&config);
    if (good)
        return f;
    rewards_feed_free(f);
    return NULL;
}

void rewards_feed_start(struct rewards_feed *f, struct control *control)
{
    if (!f)
        return;
    CHECK_MAGIC(f, REWARDS_FEED_MAGIC);
    f->control = control;
    ASSERT(pthread_create(&f->thread, NULL, run, f) == 0);
    pthread_setname_np(f->thread, "rewards-feed");
    f->is_started = true;
}

void rewards_feed_stop(struct rewards_feed *f)
{
    if (!f)
        return;
    CHECK_MAGIC(f, REWARDS_FEED_MAGIC);
    atomic_store(&f->stopping, true);
}

void rewards_feed_free(struct rewards_feed *f)
{
    if (!f)
        return;
    rewards_feed_stop(f);
    if (f->is_started)
        pthread_join(f->thread, NULL);
    rewards_writer_close(&f->writer);
    if (f->writer.conf)
        rd_kafka_conf_destroy(f->writer.conf);
    if (f->reader)
        rd_kafka_destroy_flags(f->reader, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    waiter_free(&f->waiter);
    free(f->topic);
    free(f->cursors_topic);
    free(f->cursors);
    free(f->reached);
    f->magic = 0;
    free(f);
}

void rewards_feed_get_numbers(const struct rewards_feed *f, struct rewards_feed_numbers *ret)
{
    bool is_writing = atomic_load(&f->numbers.is_writing);
    *ret = (struct rewards_feed_numbers){
        .rewards = atomic_load(&f->numbers.rewards),
        .is_writing = is_writing,
        .behind_ms =
            is_writing ? env_mono_ms(f->env) - atomic_load(&f->numbers.complete_mono_ms) : 0,
    };
}
