/* The dead-letter topic: rejected events and messages, with the reason and their position. Letters
 * are written in rounds; between two rounds librdkafka holds none, because their memory is freed
 * with their messages. */
#include "bus/bus_inside.h"

#include "base/alloc.h"

#include <stdlib.h>

#define WAIT_MS 100
#define LETTERS_AT_ONCE 500

struct dead_letters {
    rd_kafka_t *producer;
    char *topic;
    const char *why;  /* of the latest failure */
    bool is_alone;    /* only one letter is being written */
    bool is_too_many; /* a batch was refused for its size: maybe none of its letters is too large */
};

static void note_failure(struct dead_letters *to, struct letter *l, rd_kafka_resp_err_t error,
                         bool is_of_letter)
{
    bool is_size = error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE;
    if (is_size && is_of_letter && l->cut < LETTER_BARE)
        l->cut++;
    to->is_too_many |= is_size && !is_of_letter;
    if (error)
        to->why = rd_kafka_err2str(error);
}

static void on_written(rd_kafka_t *rk, const rd_kafka_message_t *m, void *context)
{
    struct dead_letters *to = context;
    struct letter *l = m->_private;
    (void)rk;
    l->is_written = m->err == RD_KAFKA_RESP_ERR_NO_ERROR;
    note_failure(to, l, m->err, to->is_alone);
}

struct dead_letters *dead_letters_new(struct bus_config *config, char **ret_why)
{
    char why[512];
    struct dead_letters *to = xcalloc(1, sizeof *to);
    rd_kafka_conf_set_opaque(config->producer, to);
    rd_kafka_conf_set_dr_msg_cb(config->producer, on_written);
    to->topic = xstrdup(config->dead_letters);
    to->producer = kafka_client_new(RD_KAFKA_PRODUCER, config->producer, why, sizeof why);
    if (to->producer) {
        config->producer = NULL;
        return to;
    }
    *ret_why = xprintf("kafka-config: %s", why);
    dead_letters_free(to);
    return NULL;
}

void dead_letters_free(struct dead_letters *to)
{
    if (!to)
        return;
    if (to->producer)
        rd_kafka_destroy(to->producer);
    free(to->topic);
    free(to);
}

static void add_header(rd_kafka_headers_t *to, const char *name, struct str value)
{
    rd_kafka_header_remove(to, name); /* from an earlier time as a dead letter */
    if (value.p)
        rd_kafka_header_add(to, name, -1, value.p, (ssize_t)value.n);
}

static void add_number(rd_kafka_headers_t *to, const char *name, int64_t n)
{
    struct buf text = {0};
    buf_add_int(&text, n);
    add_header(to, name, buf_str(&text));
    buf_free(&text);
}

static rd_kafka_headers_t *headers_of(const struct letter *l)
{
    rd_kafka_headers_t *theirs = NULL, *h;
    if (l->cut < LETTER_BARE &&
        rd_kafka_message_headers(l->of, &theirs) == RD_KAFKA_RESP_ERR_NO_ERROR)
        h = rd_kafka_headers_copy(theirs);
    else
        h = rd_kafka_headers_new(8);
    add_header(h, "Postbackd-Reason", l->reason);
    add_header(h, "Postbackd-Field", l->field);
    add_header(h, "Postbackd-Code", l->code);
    add_header(h, "Postbackd-Rejection", l->rejection);
    add_header(h, "Postbackd-Source-Topic", str_of(rd_kafka_topic_name(l->of->rkt)));
    add_number(h, "Postbackd-Source-Partition", l->of->partition);
    add_number(h, "Postbackd-Source-Offset", l->of->offset);
    if (l->cut)
        add_number(h, "Postbackd-Value-Bytes", (int64_t)l->value.n);
    return h;
}

static void produce(struct dead_letters *to, struct letter *l)
{
    rd_kafka_headers_t *headers = headers_of(l);
    bool has_value = l->value.p && !l->cut, has_key = l->cut < LETTER_BARE;
    const rd_kafka_vu_t parts[] = {
        {.vtype = RD_KAFKA_VTYPE_TOPIC, .u.cstr = to->topic},
        {.vtype = RD_KAFKA_VTYPE_KEY,
         .u.mem = {has_key ? l->of->key : NULL, has_key ? l->of->key_len : 0}},
        {.vtype = RD_KAFKA_VTYPE_VALUE,
         .u.mem = {has_value ? str_bytes(l->value.p) : NULL, has_value ? l->value.n : 0}},
        {.vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers},
        {.vtype = RD_KAFKA_VTYPE_OPAQUE, .u.ptr = l},
    };
    rd_kafka_error_t *error = rd_kafka_produceva(to->producer, parts, ARRAY_LEN(parts));
    if (!error)
        return;
    note_failure(to, l, rd_kafka_error_code(error), true);
    rd_kafka_headers_destroy(headers);
    rd_kafka_error_destroy(error);
}

/* The work that is left: a cut letter counts less. */
static size_t count_left(const struct letter *letters, size_t count)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        left += letters[i].is_written ? 0 : 1 + LETTER_BARE - letters[i].cut;
    return left;
}

static void write_round(struct dead_letters *to, struct letter *letters, size_t count,
                        const atomic_bool *stopping)
{
    to->is_alone = count == 1;
    for (size_t i = 0; i < count; i++)
        if (!letters[i].is_written)
            produce(to, &letters[i]);
    while (rd_kafka_outq_len(to->producer) > 0) {
        if (atomic_load(stopping))
            rd_kafka_purge(to->producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        rd_kafka_poll(to->producer, WAIT_MS);
    }
}

/* Writes few at a time, which bounds librdkafka's copies of their keys and headers. */
static bool write_some(struct dead_letters *to, struct letter *letters, size_t count,
                       const atomic_bool *stopping)
{
    size_t left = count_left(letters, count), before;
    if (!left)
        return true;
    do {
        before = left;
        to->is_too_many = false;
        write_round(to, letters, count, stopping);
        for (size_t i = 0; i < count && to->is_too_many && !atomic_load(stopping); i++)
            write_round(to, &letters[i], 1, stopping);
        left = count_left(letters, count);
    } while (left > 0 && left < before && !atomic_load(stopping));
    return left == 0;
}

bool dead_letters_write(struct dead_letters *to, struct letter *letters, size_t count,
                        const atomic_bool *stopping, const char **ret_why)
{
    bool good = true;
    for (size_t at = 0; at < count && good; at += LETTERS_AT_ONCE) {
        size_t n = count - at < LETTERS_AT_ONCE ? count - at : LETTERS_AT_ONCE;
        good = write_some(to, letters + at, n, stopping);
    }
    *ret_why = to->why;
    return good;
}
