/* Writes rewards to Kafka in transactions. One thread; may block. */
#pragma once

#include "bus/bus_inside.h"

struct rewards_writer {
    rd_kafka_conf_t *conf; /* each producer is made from it */
    rd_kafka_t *producer;  /* NULL: none */
    struct broker_link *link;
    const atomic_bool *stopping;
    bool is_ready; /* earlier writers are fenced, and their open transactions aborted */
    bool is_open;  /* a transaction is open */
    bool is_lost;  /* the producer is unusable, for example fenced by a newer one */
};

/* Sets callbacks, and the writer as the conf's opaque. */
void rewards_writer_set_up(struct rewards_writer *w);
MUST_CHECK bool rewards_writer_open(struct rewards_writer *w, char *why, size_t why_bytes);
/* Waits briefly. False: call it again, or it is lost. */
MUST_CHECK bool rewards_writer_begin_term(struct rewards_writer *w);
/* Copies the texts. partition RD_KAFKA_PARTITION_UA: chosen by the key. False: commit will fail. */
MUST_CHECK bool rewards_writer_add(struct rewards_writer *w, const char *topic, int32_t partition,
                                   struct str key, struct str value);
/* False: nothing was written; or it is lost, and only the cursors show what was written. */
MUST_CHECK bool rewards_writer_commit(struct rewards_writer *w);
void rewards_writer_abort(struct rewards_writer *w);
void rewards_writer_close(struct rewards_writer *w);
