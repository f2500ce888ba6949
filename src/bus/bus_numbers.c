/* Numbers of the intake from Kafka. Some come only with librdkafka's statistics, a JSON text every
 * few seconds (statistics.interval.ms). */
#include "bus/bus_inside.h"

#include "json/reader.h"

#include <stdlib.h>

static int64_t number_of(const struct json *object, const char *name)
{
    struct str text = json_member_text(object, name);
    return text.p ? strtoll(text.p, NULL, 10) : -1;
}

/* Counted from the last finished message, otherwise from the group's committed offset, otherwise
 * from the first message. 0: the partition's end is not known yet. */
static int64_t lag_of(const struct json *partition)
{
    int64_t end = number_of(partition, "hi_offset"), at = number_of(partition, "stored_offset");
    if (at < 0)
        at = number_of(partition, "committed_offset");
    if (at < 0)
        at = number_of(partition, "lo_offset");
    return end > at && at >= 0 ? end - at : 0;
}

static int64_t sum_lags(const struct json *topics)
{
    int64_t sum = 0;
    for (const struct json *topic = topics ? topics->first : NULL; topic; topic = topic->next) {
        const struct json *partitions = json_member(topic, "partitions");
        for (const struct json *p = partitions ? partitions->first : NULL; p; p = p->next) {
            struct str state = json_member_text(p, "fetch_state"); /* none: not assigned to us */
            sum += str_is(state, "none") ? 0 : lag_of(p);
        }
    }
    return sum;
}

static int64_t count_up(const struct json *brokers)
{
    int64_t up = 0;
    for (const struct json *b = brokers ? brokers->first : NULL; b; b = b->next)
        up +=
            str_is(json_member_text(b, "state"), "UP") &&
            !str_is(json_member_text(b, "source"), "logical"); /* the coordinator, a second entry */
    return up;
}

int bus_take_statistics(rd_kafka_t *consumer, char *json, size_t n, void *context)
{
    struct bus *b = context;
    struct arena arena = {0};
    struct json *all = NULL;
    struct str why;
    (void)consumer;
    if (json_parse(&arena, (struct str){json, n}, &all, &why)) {
        int64_t up = count_up(json_member(all, "brokers"));
        atomic_store(&b->numbers.brokers_up, up);
        atomic_store(&b->numbers.lag, sum_lags(json_member(all, "topics")));
        if (up > 0)
            broker_link_up(&b->link);
    }
    arena_free(&arena);
    return 0;
}

void bus_get_numbers(const struct bus *b, struct bus_numbers *ret)
{
    *ret = (struct bus_numbers){
        .messages = atomic_load(&b->numbers.messages),
        .dead_letters = atomic_load(&b->numbers.dead_letters),
        .partitions = atomic_load(&b->numbers.partitions),
        .lag = atomic_load(&b->numbers.lag),
        .brokers_up = atomic_load(&b->numbers.brokers_up),
        .paused = atomic_load(&b->numbers.paused),
    };
}
