/* The consumer: reads messages, has the store take their events in groups (bus_group.c), writes
 * rejected ones to the dead-letter topic, and only then commits the messages' offsets. One thread
 * does all of this. It also runs librdkafka's callbacks, which are called only while it polls.
 *
 * Every rebalance revokes all partitions (range, roundrobin). The bus then drops the messages that
 * wait: their offsets are not committed, so the next owner of the partitions reads them again.
 *
 * One commit is under way at a time, and the bus does not wait for it. If a commit is lost, the
 * next one covers its offsets, too. */
#include "bus/bus_inside.h"

#include "base/alloc.h"
#include "base/log.h"

#include <stdlib.h>

#define BUS_MAGIC 0xB0500001u
#define POLL_MS 200
#define RETRY_MS 500
#define WAITING_MOST 1000
#define WAITING_BYTES_MOST (512 << 10)

/* --- what librdkafka says --------------------------------------------------------------------- */

static void on_error(rd_kafka_t *rk, int code, const char *reason, void *context)
{
    struct bus *b = context;
    (void)rk;
    broker_link_error(&b->link, code, reason);
    if (b->link.is_away)
        atomic_store(&b->numbers.brokers_up, 0);
}

static bool is_of_rebalance(rd_kafka_resp_err_t error)
{
    return error == RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION ||
           error == RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID ||
           error == RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS;
}

static void on_committed(rd_kafka_t *rk, rd_kafka_resp_err_t error,
                         rd_kafka_topic_partition_list_t *offsets, void *context)
{
    struct bus *b = context;
    (void)offsets;
    b->is_committing = false;
    if (!error || error == RD_KAFKA_RESP_ERR__NO_OFFSET)
        return;
    b->is_uncommitted = true;
    if (!is_of_rebalance(error))
        on_error(rk, error, rd_kafka_err2str(error), b);
}

/* --- offsets ---------------------------------------------------------------------------------- */

static void commit(struct bus *b)
{
    if (!b->is_uncommitted || b->is_committing)
        return;
    b->is_uncommitted = false;
    b->is_committing = rd_kafka_commit(b->consumer, NULL, 1) == RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Removes the first n messages, which are finished. */
static void finish_messages(struct bus *b, size_t n)
{
    rd_kafka_topic_partition_list_t *done = rd_kafka_topic_partition_list_new(1);
    for (size_t i = 0; i < n; i++) {
        const rd_kafka_message_t *m = b->waiting[i];
        const char *topic = rd_kafka_topic_name(m->rkt);
        rd_kafka_topic_partition_t *p =
            rd_kafka_topic_partition_list_find(done, topic, m->partition);
        if (!p)
            p = rd_kafka_topic_partition_list_add(done, topic, m->partition);
        p->offset = m->offset + 1;
    }
    rd_kafka_offsets_store(b->consumer, done);
    rd_kafka_topic_partition_list_destroy(done);
    b->is_uncommitted = true;
    atomic_fetch_add(&b->numbers.messages, (long long)n);
}

static void free_messages(struct bus *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        rd_kafka_message_destroy(b->waiting[i]);
    b->waiting_count -= n;
    if (b->waiting_count)
        memmove(b->waiting, b->waiting + n, b->waiting_count * sizeof(rd_kafka_message_t *));
}

/* --- partitions ------------------------------------------------------------------------------- */

static void set_paused(struct bus *b, bool is_paused, const char *reason)
{
    rd_kafka_topic_partition_list_t *all = NULL;
    if (atomic_load(&b->numbers.paused) == is_paused)
        return;
    atomic_store(&b->numbers.paused, is_paused);
    if (rd_kafka_assignment(b->consumer, &all) == RD_KAFKA_RESP_ERR_NO_ERROR) {
        if (is_paused)
            rd_kafka_pause_partitions(b->consumer, all);
        else
            rd_kafka_resume_partitions(b->consumer, all);
        rd_kafka_topic_partition_list_destroy(all);
    }
    if (is_paused)
        log_warning("kafka_paused", LOG_C("reason", reason));
    else
        log_info("kafka_resumed");
}

static void on_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t error,
                         rd_kafka_topic_partition_list_t *partitions, void *context)
{
    struct bus *b = context;
    bool is_assigned = error == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
    if (is_assigned) {
        broker_link_up(&b->link);
        rd_kafka_assign(rk, partitions);
    } else {
        group_drop(b);
        free_messages(b, b->waiting_count);
        b->is_committing = false; /* one more, after the one that may be under way */
        commit(b);
        set_paused(b, false, NULL); /* librdkafka keeps a partition paused over assignments */
        rd_kafka_assign(rk, NULL);
    }
    int count = is_assigned ? partitions->cnt : 0;
    atomic_store(&b->numbers.partitions, count);
    log_info("kafka_partitions", LOG_INT("assigned", count));
}

/* --- the thread ------------------------------------------------------------------------------- */

/* Runs librdkafka's callbacks. True: a message came. */
static bool poll_message(struct bus *b, int wait_ms)
{
    rd_kafka_message_t *m = rd_kafka_consumer_poll(b->consumer, wait_ms);
    if (!m)
        return false;
    if (m->err) {
        if (m->err != RD_KAFKA_RESP_ERR__PARTITION_EOF)
            on_error(b->consumer, m->err, rd_kafka_message_errstr(m), b);
        rd_kafka_message_destroy(m);
        return false;
    }
    b->waiting =
        xgrow(b->waiting, &b->waiting_room, b->waiting_count + 1, sizeof(rd_kafka_message_t *));
    b->waiting[b->waiting_count++] = m;
    return true;
}

static void gather(struct bus *b)
{
    size_t bytes = 0;
    int wait_ms = POLL_MS;
    while (b->waiting_count < WAITING_MOST && bytes < WAITING_BYTES_MOST &&
           poll_message(b, wait_ms)) {
        bytes += b->waiting[b->waiting_count - 1]->len;
        wait_ms = 0;
    }
}

static const char *why_not_stored(struct bus *b, enum store_status status)
{
    if (status == STORE_REFUSED)
        return "the database refuses these events; see statement_refused";
    enum store_refusal refusal = store_get_refusal(b->options.store);
    return refusal == STORE_TAKES ? "the store is busy or away" : store_refusal_text(refusal);
}

/* Advances the first messages by one step. False: *ret_why, and it must be tried again. */
static bool take_group(struct bus *b, const char **ret_why)
{
    struct group *g = &b->group;
    enum store_status status = g->is_durable ? STORE_OK : group_store(b);
    if (status != STORE_OK) {
        *ret_why = why_not_stored(b, status);
        return false;
    }
    if (!dead_letters_write(b->dead_letters, g->letters, g->letter_count, &b->stopping, ret_why))
        return false;
    if (g->letter_count) {
        atomic_fetch_add(&b->numbers.dead_letters, (long long)g->letter_count);
        log_warning("kafka_dead_letters", LOG_INT("count", g->letter_count),
                    LOG_STR("first_reason", g->letters[0].reason));
    }
    size_t n = g->messages;
    finish_messages(b, n);
    group_drop(b);
    free_messages(b, n);
    return true;
}

/* Polls while it waits, so that the group does not consider it dead. A message that was on its way
 * when partitions were paused waits behind the others. */
static void take_waiting(struct bus *b)
{
    const char *why = NULL;
    while (b->waiting_count && !atomic_load(&b->stopping)) {
        if (take_group(b, &why)) {
            set_paused(b, false, NULL);
        } else if (!atomic_load(&b->stopping)) {
            set_paused(b, true, why);
            poll_message(b, RETRY_MS);
        }
    }
    if (!b->waiting_count) /* a rebalance may have taken them */
        set_paused(b, false, NULL);
}

static void *run(void *context)
{
    struct bus *b = context;
    CHECK_MAGIC(b, BUS_MAGIC);
    while (!atomic_load(&b->stopping)) {
        gather(b);
        take_waiting(b);
        commit(b);
    }
    group_drop(b);
    free_messages(b, b->waiting_count);
    b->is_committing = false;
    commit(b);
    broker_link_leave(b->consumer, b->options.env);
    return NULL;
}

/* --- life ------------------------------------------------------------------------------------- */

static void set_callbacks(struct bus *b, struct bus_config *config)
{
    rd_kafka_conf_set_opaque(config->consumer, b);
    rd_kafka_conf_set_error_cb(config->consumer, on_error);
    rd_kafka_conf_set_rebalance_cb(config->consumer, on_rebalance);
    rd_kafka_conf_set_offset_commit_cb(config->consumer, on_committed);
    rd_kafka_conf_set_stats_cb(config->consumer, bus_take_statistics);
    rd_kafka_conf_set_log_cb(config->consumer, broker_link_log);
    rd_kafka_conf_set_log_cb(config->producer, broker_link_log);
}

static bool connect_clients(struct bus *b, char **ret_why)
{
    struct bus_config config;
    char why[512] = "";
    if (!bus_config_read(&config, &b->options.settings, ret_why))
        return false;
    set_callbacks(b, &config);
    b->consumer = kafka_client_new(RD_KAFKA_CONSUMER, config.consumer, why, sizeof why);
    if (b->consumer) {
        config.consumer = NULL;
        rd_kafka_poll_set_consumer(b->consumer);
        b->dead_letters = dead_letters_new(&config, ret_why);
        if (b->dead_letters)
            rd_kafka_subscribe(b->consumer, config.topics);
    } else {
        *ret_why = xprintf("kafka-config: %s", why);
    }
    bus_config_free(&config);
    return b->dead_letters != NULL;
}

struct bus *bus_new(const struct bus_options *options, char **ret_why)
{
    struct bus *b = xcalloc(1, sizeof *b);
    b->magic = BUS_MAGIC;
    b->options = *options;
    b->link.side = "intake";
    waiter_init(&b->waiter);
    b->intake = intake_new(options->directory, options->hash_secret);
    if (connect_clients(b, ret_why))
        return b;
    bus_free(b);
    return NULL;
}

void bus_start(struct bus *b, struct control *control)
{
    CHECK_MAGIC(b, BUS_MAGIC);
    b->control = control;
    ASSERT(pthread_create(&b->thread, NULL, run, b) == 0);
    pthread_setname_np(b->thread, "kafka");
    b->is_started = true;
}

void bus_stop(struct bus *b)
{
    CHECK_MAGIC(b, BUS_MAGIC);
    atomic_store(&b->stopping, true);
}

void bus_free(struct bus *b)
{
    if (!b)
        return;
    CHECK_MAGIC(b, BUS_MAGIC);
    bus_stop(b);
    if (b->is_started)
        pthread_join(b->thread, NULL);
    dead_letters_free(b->dead_letters);
    if (b->consumer)
        rd_kafka_destroy_flags(b->consumer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    intake_free(b->intake);
    waiter_free(&b->waiter);
    free(b->waiting);
    b->magic = 0;
    free(b);
}
