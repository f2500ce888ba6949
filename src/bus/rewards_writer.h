/* Writes rewards to Kafka in transactions. One thread; may block. */
#pragma once

#include "bus/bus_inside.h"

struct rewards_writer {
    rd_kafka_conf_t *conf; /* that each producer is made of */
    rd_kafka_t *producer;  /* NULL: none */
    struct broker_link *link;
    const atomic_bool *stopping;
    bool is_ready; /* whoever wrote before cannot any more, and what it left open is undone */
    bool is_open;  /* a transaction has begun */
    bool is_lost;  /* the producer is of no use any more: another one has begun, or so */
};

/* Sets callbacks; the conf's opaque is the writer from then on. */
void rewards_writer_set_up(struct rewards_writer *w);
MUST_CHECK bool rewards_writer_open(struct rewards_writer *w, char *why, size_t why_bytes);
/* Waits for a moment; false: ask again, or it is lost. */
MUST_CHECK bool rewards_writer_begin_term(struct rewards_writer *w);
/* Copies the texts. partition RD_KAFKA_PARTITION_UA: by the key. False: commit will fail. */
MUST_CHECK bool rewards_writer_add(struct rewards_writer *w, const char *topic, int32_t partition,
                                   struct str key, struct str value);
/* False: nothing of it is there, or it is lost, which is for the cursors to say. */
MUST_CHECK bool rewards_writer_commit(struct rewards_writer *w);
void rewards_writer_abort(struct rewards_writer *w);
void rewards_writer_close(struct rewards_writer *w);
