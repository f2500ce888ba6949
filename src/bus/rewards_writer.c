/* librdkafka's transactional producer: what its errors mean, and how long to try again. */
#include "bus/rewards_writer.h"

#include "base/log.h"

#define ASK_MS 1000

/* Notes the error and frees it. True: try again. */
static bool take_error(struct rewards_writer *w, rd_kafka_error_t *error)
{
    bool again = rd_kafka_error_is_retriable(error) && !atomic_load(w->stopping);
    broker_link_error(w->link, rd_kafka_error_code(error), rd_kafka_error_string(error));
    if (!again && !rd_kafka_error_txn_requires_abort(error))
        w->is_lost = true;
    rd_kafka_error_destroy(error);
    return again;
}

static void on_written(rd_kafka_t *rk, const rd_kafka_message_t *m, void *context)
{
    struct rewards_writer *w = context;
    (void)rk;
    if (m->err && m->err != RD_KAFKA_RESP_ERR__PURGE_QUEUE &&
        m->err != RD_KAFKA_RESP_ERR__PURGE_INFLIGHT)
        broker_link_error(w->link, m->err, rd_kafka_err2str(m->err));
}

static void on_error(rd_kafka_t *rk, int code, const char *reason, void *context)
{
    struct rewards_writer *w = context;
    (void)rk;
    broker_link_error(w->link, code, reason);
}

void rewards_writer_set_up(struct rewards_writer *w)
{
    rd_kafka_conf_set_opaque(w->conf, w);
    rd_kafka_conf_set_dr_msg_cb(w->conf, on_written);
    rd_kafka_conf_set_error_cb(w->conf, on_error);
    rd_kafka_conf_set_log_cb(w->conf, broker_link_log);
}

bool rewards_writer_open(struct rewards_writer *w, char *why, size_t why_bytes)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_dup(w->conf);
    w->is_ready = w->is_open = w->is_lost = false;
    w->producer = kafka_client_new(RD_KAFKA_PRODUCER, conf, why, why_bytes);
    if (!w->producer)
        rd_kafka_conf_destroy(conf);
    return w->producer != NULL;
}

bool rewards_writer_begin_term(struct rewards_writer *w)
{
    if (w->is_ready)
        return true;
    rd_kafka_error_t *error = rd_kafka_init_transactions(w->producer, ASK_MS);
    if (error)
        (void)take_error(w, error);
    w->is_ready = !error;
    return w->is_ready;
}

static bool begin(struct rewards_writer *w)
{
    if (w->is_open)
        return true;
    rd_kafka_error_t *error = rd_kafka_begin_transaction(w->producer);
    if (error)
        (void)take_error(w, error);
    w->is_open = !error;
    return w->is_open;
}

bool rewards_writer_add(struct rewards_writer *w, const char *topic, int32_t partition,
                        struct str key, struct str value)
{
    const rd_kafka_vu_t parts[] = {
        {.vtype = RD_KAFKA_VTYPE_TOPIC, .u.cstr = topic},
        {.vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = partition},
        {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {str_bytes(key.p), key.n}},
        {.vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = {str_bytes(value.p), value.n}},
        {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY},
    };
    if (!begin(w))
        return false;
    rd_kafka_error_t *error = rd_kafka_produceva(w->producer, parts, ARRAY_LEN(parts));
    if (!error)
        return true;
    broker_link_error(w->link, rd_kafka_error_code(error), rd_kafka_error_string(error));
    rd_kafka_error_destroy(error);
    return false;
}

bool rewards_writer_commit(struct rewards_writer *w)
{
    rd_kafka_error_t *error;
    if (!w->is_open)
        return true;
    do {
        error = rd_kafka_commit_transaction(w->producer, ASK_MS);
    } while (error && take_error(w, error));
    if (error) {
        rewards_writer_abort(w);
        return false;
    }
    w->is_open = false;
    broker_link_up(w->link);
    return true;
}

void rewards_writer_abort(struct rewards_writer *w)
{
    rd_kafka_error_t *error;
    if (!w->is_open || w->is_lost)
        return;
    do {
        error = rd_kafka_abort_transaction(w->producer, ASK_MS);
    } while (error && take_error(w, error));
    w->is_lost |= error != NULL;
    w->is_open = false;
    log_info("kafka_aborted", LOG_C("side", w->link->side));
}

void rewards_writer_close(struct rewards_writer *w)
{
    if (w->producer)
        rd_kafka_destroy(w->producer);
    w->producer = NULL;
    w->is_ready = w->is_open = w->is_lost = false;
}
