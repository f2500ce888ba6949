/* Reads the file of --kafka-config: lines `name=value` with librdkafka's names. An event must be
 * stored before its offset is committed, and none may be lost: settings that would break this are
 * refused by name. librdkafka itself judges all other settings, and its error is passed on. */
#include "bus/bus_inside.h"

#include "base/alloc.h"
#include "base/file.h"

#include <stdlib.h>

#define DEAD_LETTER_NAME "errors.deadletterqueue.topic.name" /* named as in Kafka Connect */
#define DEAD_LETTER_TOPIC "postbackd-dead-letters"
#define CURSORS_NAME "offset.storage.topic" /* also from Kafka Connect */
#define CURSORS_TOPIC "postbackd-rewards-cursors"
#define TRANSACTIONAL_NAME "transactional.id"
#define TRANSACTIONAL_ID "postbackd-rewards"
#define ERROR_BYTES 512
#define TOPIC_BYTES_MOST 249
#define FILE_BYTES_MOST ((size_t)1 << 20)

struct property {
    const char *name, *value;
};

/* Defaults of the file. */
static const struct property defaults[] = {
    {"client.id", "postbackd"},
    {"group.id", "postbackd"},
    {"statistics.interval.ms", "5000"},
    {"queued.max.messages.kbytes", "16384"},
    {"message.max.bytes", "9437184"}, /* of a dead letter: a message and its headers */
    {"message.timeout.ms", "10000"},  /* of dead letters: then they are tried again */
    {0},
};

/* Fixed properties: of both consumers, and of the reader of cursors. */
static const struct property of_consumers[] = {
    {"enable.auto.commit", "false"},
    {"enable.auto.offset.store", "false"},
    {"auto.offset.reset", "earliest"},
    {"partition.assignment.strategy", "range,roundrobin"},
    {0},
};
static const struct property of_reader[] = {
    {"isolation.level", "read_committed"}, {"enable.partition.eof", "true"}, {0}};

static const struct {
    const char *name, *why;
} refused[] = {
    {"enable.auto.commit", "offsets are committed once the events are stored"},
    {"enable.auto.offset.store", "offsets are committed once the events are stored"},
    {"auto.offset.reset", "it is earliest: events that were read before are duplicates"},
    {"partition.assignment.strategy", "it is range,roundrobin"},
    {"group.protocol", "it is classic"},
    {"acks", "a message counts once all in-sync replicas have it"},
    {"request.required.acks", "a message counts once all in-sync replicas have it"},
    {"delivery.report.only.error", "each dead letter is waited for"},
};

static bool set(rd_kafka_conf_t *conf, const char *name, const char *value, char **ret_why)
{
    char why[ERROR_BYTES];
    if (rd_kafka_conf_set(conf, name, value, why, sizeof why) == RD_KAFKA_CONF_OK)
        return true;
    *ret_why = xstrdup(why);
    return false;
}

static void set_all(rd_kafka_conf_t *conf, const struct property *p)
{
    char *why = NULL;
    for (; p->name; p++)
        ASSERT(set(conf, p->name, p->value, &why));
}

/* Settings that belong to no client, or not to every client. */
static char **find_own(struct bus_config *c, struct str name)
{
    if (str_is(name, DEAD_LETTER_NAME))
        return &c->dead_letters;
    if (str_is(name, CURSORS_NAME))
        return &c->cursors;
    return str_is(name, TRANSACTIONAL_NAME) ? &c->transactional_id : NULL;
}

static bool set_line(struct bus_config *c, struct str name, struct str value, char **ret_why)
{
    if (!name.n || !value.p) {
        *ret_why = xstrdup("not a line name=value");
        return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        if (!str_is(name, refused[i].name))
            continue;
        *ret_why = xprintf("%s cannot be set: %s", refused[i].name, refused[i].why);
        return false;
    }
    char *name_c = xprintf("%.*s", STR_ARG(name)), *value_c = xprintf("%.*s", STR_ARG(value));
    bool good = true;
    char **own = find_own(c, name);
    if (own && !value.n) {
        *ret_why = xprintf("%s has no value", name_c);
        good = false;
    } else if (own) {
        free(*own);
        *own = value_c;
        value_c = NULL;
    } else {
        good = set(c->consumer, name_c, value_c, ret_why);
    }
    free(name_c);
    free(value_c);
    return good;
}

static bool set_lines(struct bus_config *c, struct str text, const char *path, char **ret_why)
{
    char *why = NULL;
    int number = 0;
    bool good = true;
    while (good && text.n > 0) {
        struct str rest = str_trim(str_cut(&text, '\n'));
        if (rest.n && rest.p[rest.n - 1] == '\r')
            rest.n--;
        number++;
        if (!rest.n || rest.p[0] == '#')
            continue;
        if (memchr(rest.p, '\0', rest.n)) {
            why = xstrdup("has a NUL byte: save the file as UTF-8");
            good = false;
            break;
        }
        struct str name = str_trim(str_cut(&rest, '='));
        good = set_line(c, name, rest.p ? str_trim(rest) : rest, &why);
    }
    if (!good)
        *ret_why = xprintf("kafka-config: %s: line %d: %s", path, number, why);
    free(why);
    return good;
}

static bool read_file(struct bus_config *c, const char *path, char **ret_why)
{
    struct buf text = {0};
    char *why = NULL;
    if (!path) {
        *ret_why = xstrdup("--kafka-config is needed, too, with bootstrap.servers.");
        return false;
    }
    if (!file_read(path, FILE_BYTES_MOST, &text, NULL, &why)) {
        *ret_why = xprintf("kafka-config: %s", why);
        free(why);
        return false;
    }
    bool good = set_lines(c, buf_str(&text), path, ret_why);
    explicit_bzero(text.p, text.capacity); /* may have a password */
    buf_free(&text);
    size_t n = 0;
    if (good && (rd_kafka_conf_get(c->consumer, "bootstrap.servers", NULL, &n) != 0 || n <= 1)) {
        *ret_why = xprintf("kafka-config: %s: bootstrap.servers is missing.", path);
        return false;
    }
    return good;
}

static bool is_topic(struct str name)
{
    bool good = name.n > 0 && name.n <= TOPIC_BYTES_MOST;
    for (size_t i = 0; i < name.n && good; i++)
        good = char_is_letter_or_digit(name.p[i]) || char_in(name.p[i], "._-");
    return good;
}

static bool read_topics(struct bus_config *c, const char *topics, char **ret_why)
{
    struct str rest = str_of(topics);
    c->topics = rd_kafka_topic_partition_list_new(1);
    while (rest.p) {
        struct str topic = str_trim(str_cut(&rest, ','));
        bool is_dead = str_is(topic, c->dead_letters);
        if (!is_topic(topic) || is_dead) {
            *ret_why = xprintf(is_dead ? "intake: kafka:%s: %.*s is the topic of dead letters."
                                       : "intake: kafka:%s: `%.*s` is not the name of a topic.",
                               topics, STR_ARG(topic));
            return false;
        }
        char *name = xprintf("%.*s", STR_ARG(topic));
        rd_kafka_topic_partition_list_add(c->topics, name, RD_KAFKA_PARTITION_UA);
        free(name);
    }
    return true;
}

/* Reading a topic that it also writes would never end. */
static bool check_rewards_topic(const struct bus_config *c, const char *topic, char **ret_why)
{
    const char *const names[] = {topic, c->cursors}, *wrong = NULL;
    for (size_t i = 0; i < ARRAY_LEN(names) && !wrong; i++) {
        bool is_read = c->topics && rd_kafka_topic_partition_list_find(c->topics, names[i],
                                                                       RD_KAFKA_PARTITION_UA);
        if (!is_topic(str_of(names[i])))
            wrong = "is not the name of a topic";
        else if (is_read || strcmp(names[i], c->dead_letters) == 0 ||
                 strcmp(names[i], names[!i]) == 0)
            wrong = "is a topic for something else";
        if (wrong)
            *ret_why = xprintf("rewards-feed: kafka:%s: `%s` %s.", topic, names[i], wrong);
    }
    return !wrong;
}

static void make_clients(struct bus_config *c)
{
    const struct property reader[] = {
        {"group.id", c->transactional_id}, {"statistics.interval.ms", "0"}, {0}};
    const struct property writer[] = {{TRANSACTIONAL_NAME, c->transactional_id},
                                      {"enable.idempotence", "true"},
                                      {"statistics.interval.ms", "0"},
                                      {0}};
    const struct property silent[] = {{"statistics.interval.ms", "0"}, {0}};
    c->producer = rd_kafka_conf_dup(c->consumer);
    c->reader = rd_kafka_conf_dup(c->consumer);
    c->writer = rd_kafka_conf_dup(c->consumer);
    set_all(c->consumer, of_consumers);
    set_all(c->producer, silent);
    set_all(c->reader, of_consumers);
    set_all(c->reader, of_reader);
    set_all(c->reader, reader);
    set_all(c->writer, writer);
}

void bus_config_free(struct bus_config *c)
{
    rd_kafka_conf_t *const confs[] = {c->consumer, c->producer, c->reader, c->writer};
    for (size_t i = 0; i < ARRAY_LEN(confs); i++)
        if (confs[i])
            rd_kafka_conf_destroy(confs[i]);
    if (c->topics)
        rd_kafka_topic_partition_list_destroy(c->topics);
    free(c->dead_letters);
    free(c->cursors);
    free(c->transactional_id);
    *c = (struct bus_config){0};
}

bool bus_config_read(struct bus_config *ret, const struct bus_settings *s, char **ret_why)
{
    struct bus_config c = {.consumer = rd_kafka_conf_new(),
                           .dead_letters = xstrdup(DEAD_LETTER_TOPIC),
                           .cursors = xstrdup(CURSORS_TOPIC),
                           .transactional_id = xstrdup(TRANSACTIONAL_ID)};
    set_all(c.consumer, defaults);
    if (!read_file(&c, s->config_file, ret_why) ||
        (s->topics && !read_topics(&c, s->topics, ret_why)) ||
        (s->rewards_topic && !check_rewards_topic(&c, s->rewards_topic, ret_why))) {
        bus_config_free(&c);
        return false;
    }
    make_clients(&c);
    *ret = c;
    return true;
}

static void log_nothing(const rd_kafka_t *client, int level, const char *facility, const char *text)
{
    (void)client, (void)level, (void)facility, (void)text;
}

/* librdkafka checks some settings, and reads certificates, only when it makes a client. This client
 * knows no broker. */
static bool try_client(rd_kafka_type_t type, const rd_kafka_conf_t *conf, char **ret_why)
{
    char why[512] = "";
    rd_kafka_conf_t *copy = rd_kafka_conf_dup(conf);
    const struct property no_broker[] = {{"bootstrap.servers", ""}, {0}};
    set_all(copy, no_broker);
    rd_kafka_conf_set_log_cb(copy, log_nothing);
    rd_kafka_t *client = kafka_client_new(type, copy, why, sizeof why);
    if (client) {
        rd_kafka_destroy(client);
        return true;
    }
    rd_kafka_conf_destroy(copy);
    *ret_why = xprintf("kafka-config: %s", why);
    return false;
}

bool bus_settings_check(const struct bus_settings *s, char **ret_why)
{
    struct bus_config c;
    if (!bus_config_read(&c, s, ret_why))
        return false;
    bus_config_free(&c);
    return true;
}

bool bus_settings_try(const struct bus_settings *s, char **ret_why)
{
    struct bus_config c;
    if (!bus_config_read(&c, s, ret_why))
        return false;
    bool good = (!s->topics || (try_client(RD_KAFKA_CONSUMER, c.consumer, ret_why) &&
                                try_client(RD_KAFKA_PRODUCER, c.producer, ret_why))) &&
                (!s->rewards_topic || (try_client(RD_KAFKA_PRODUCER, c.writer, ret_why) &&
                                       try_client(RD_KAFKA_CONSUMER, c.reader, ret_why)));
    bus_config_free(&c);
    return good;
}
