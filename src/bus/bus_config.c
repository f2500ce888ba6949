/* The file of --kafka-config: `name=value` lines with the names of librdkafka. What would break the
 * promise (an event is stored before its offset is committed, and nothing is lost) is refused by
 * name; about all else librdkafka's own judgement is passed on. */
#include "bus/bus_inside.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define DEAD_LETTER_NAME "errors.deadletterqueue.topic.name" /* as Kafka Connect names it */
#define DEAD_LETTER_TOPIC "postbackd-dead-letters"
#define ERROR_BYTES 512
#define TOPIC_BYTES_MOST 249

/* What holds where the file says nothing. */
static const char *const defaults[][2] = {
    {"client.id", "postbackd"},         {"group.id", "postbackd"},
    {"statistics.interval.ms", "5000"}, {"queued.max.messages.kbytes", "16384"},
    {"message.max.bytes", "9437184"}, /* of a dead letter: what a message may have, and headers */
    {"message.timeout.ms", "10000"},  /* of dead letters: then they are tried anew */
};

/* What always holds. */
static const char *const fixed[][2] = {
    {"enable.auto.commit", "false"},
    {"enable.auto.offset.store", "false"},
    {"auto.offset.reset", "earliest"},
    {"partition.assignment.strategy", "range,roundrobin"},
};

static const struct {
    const char *name, *why;
} refused[] = {
    {"enable.auto.commit", "offsets are committed once the events are stored"},
    {"enable.auto.offset.store", "offsets are committed once the events are stored"},
    {"auto.offset.reset", "it is earliest: events that were read before are duplicates"},
    {"partition.assignment.strategy", "it is range,roundrobin"},
    {"group.protocol", "it is classic"},
    {"acks", "a dead letter counts once all in-sync replicas have it"},
    {"request.required.acks", "a dead letter counts once all in-sync replicas have it"},
    {"delivery.report.only.error", "each dead letter is waited for"},
    {"transactional.id", "dead letters are not written in transactions"},
};

static bool set(rd_kafka_conf_t *conf, const char *name, const char *value, char **ret_why)
{
    char why[ERROR_BYTES];
    if (rd_kafka_conf_set(conf, name, value, why, sizeof why) == RD_KAFKA_CONF_OK)
        return true;
    *ret_why = xstrdup(why);
    return false;
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
    if (str_is(name, DEAD_LETTER_NAME)) {
        free(c->dead_letters);
        c->dead_letters = value_c;
        value_c = NULL;
    } else {
        good = set(c->consumer, name_c, value_c, ret_why);
    }
    free(name_c);
    free(value_c);
    return good;
}

static bool set_lines(struct bus_config *c, FILE *file, const char *path, char **ret_why)
{
    char *line = NULL, *why = NULL;
    size_t capacity = 0;
    int number = 0;
    bool good = true;
    while (good && getline(&line, &capacity, file) > 0) {
        struct str rest = str_of(line);
        rest = str_trim(str_cut(&rest, '\n'));
        if (rest.n && rest.p[rest.n - 1] == '\r')
            rest.n--;
        number++;
        if (!rest.n || rest.p[0] == '#')
            continue;
        struct str name = str_trim(str_cut(&rest, '='));
        good = set_line(c, name, rest.p ? str_trim(rest) : rest, &why);
    }
    if (!good)
        *ret_why = xprintf("kafka-config: %s: line %d: %s", path, number, why);
    free(line);
    free(why);
    return good;
}

static bool read_file(struct bus_config *c, const char *path, char **ret_why)
{
    FILE *file = path ? fopen(path, "re") : NULL;
    if (!path) {
        *ret_why = xstrdup("intake: --kafka-config is needed, too, with bootstrap.servers.");
        return false;
    }
    if (!file) {
        *ret_why = xprintf("kafka-config: %s: %s", path, strerror(errno));
        return false;
    }
    bool good = set_lines(c, file, path, ret_why);
    fclose(file);
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
        good = (name.p[i] >= 'a' && name.p[i] <= 'z') || (name.p[i] >= 'A' && name.p[i] <= 'Z') ||
               (name.p[i] >= '0' && name.p[i] <= '9') || strchr("._-", name.p[i]);
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

void bus_config_free(struct bus_config *c)
{
    if (c->consumer)
        rd_kafka_conf_destroy(c->consumer);
    if (c->producer)
        rd_kafka_conf_destroy(c->producer);
    if (c->topics)
        rd_kafka_topic_partition_list_destroy(c->topics);
    free(c->dead_letters);
    *c = (struct bus_config){0};
}

bool bus_config_read(struct bus_config *ret, const struct bus_settings *s, char **ret_why)
{
    struct bus_config c = {.consumer = rd_kafka_conf_new(),
                           .dead_letters = xstrdup(DEAD_LETTER_TOPIC)};
    char *why = NULL;
    for (size_t i = 0; i < ARRAY_LEN(defaults); i++)
        ASSERT(set(c.consumer, defaults[i][0], defaults[i][1], &why));
    if (!read_file(&c, s->config_file, ret_why) || !read_topics(&c, s->topics, ret_why)) {
        bus_config_free(&c);
        return false;
    }
    c.producer = rd_kafka_conf_dup(c.consumer);
    ASSERT(set(c.producer, "statistics.interval.ms", "0", &why)); /* nobody would read them */
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        ASSERT(set(c.consumer, fixed[i][0], fixed[i][1], &why));
    *ret = c;
    return true;
}

bool bus_settings_check(const struct bus_settings *s, char **ret_why)
{
    struct bus_config c;
    if (!bus_config_read(&c, s, ret_why))
        return false;
    bus_config_free(&c);
    return true;
}
