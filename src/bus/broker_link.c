/* Logs whether a Kafka client is connected, each error once, and makes a consumer leave its
 * group. */
#include "bus/bus_inside.h"

#include "base/log.h"

#include <stdio.h>

#define LEAVE_MS 3000

void broker_link_up(struct broker_link *l)
{
    if (l->is_away)
        log_info("kafka_connected", LOG_C("side", l->side));
    l->is_away = false;
    l->said = RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Single connections come and go: only losing all of them is worth a warning. */
void broker_link_error(struct broker_link *l, int code, const char *reason)
{
    if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
        if (!l->is_away)
            log_warning("kafka_away", LOG_C("side", l->side),
                        LOG_C("reason", *l->away_reason ? l->away_reason : reason));
        l->is_away = true;
    } else if (code == RD_KAFKA_RESP_ERR__TRANSPORT || code == RD_KAFKA_RESP_ERR__RESOLVE ||
               code == RD_KAFKA_RESP_ERR__TIMED_OUT) {
        snprintf(l->away_reason, sizeof l->away_reason, "%s", reason);
    } else if ((int)l->said != code) {
        l->said = (rd_kafka_resp_err_t)code;
        log_warning("kafka_error", LOG_C("side", l->side), LOG_C("reason", reason));
    }
}

/* Called on librdkafka's threads. What matters is also reported as an error. */
void broker_link_log(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
    (void)rk;
    (void)level;
    log_debug("kafka_log", LOG_C("facility", facility), LOG_C("text", text));
}

void broker_link_leave(rd_kafka_t *consumer, struct env *env)
{
    int64_t until_ms = env_mono_ms(env) + LEAVE_MS;
    rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(consumer);
    rd_kafka_error_t *error = rd_kafka_consumer_close_queue(consumer, queue);
    while (!error && !rd_kafka_consumer_closed(consumer) && env_mono_ms(env) < until_ms) {
        rd_kafka_message_t *m = rd_kafka_consumer_poll(consumer, 20);
        if (m)
            rd_kafka_message_destroy(m);
    }
    if (error)
        rd_kafka_error_destroy(error);
    rd_kafka_queue_destroy(queue);
}
