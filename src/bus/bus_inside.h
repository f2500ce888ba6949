/* What the files of bus/ share. */
#pragma once

#include "base/waiter.h"
#include "bus/bus.h"
#include "intake/intake_answer.h"

#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdatomic.h>

/* --- the settings, read ----------------------------------------------------------------------- */

/* NULL after a client was made, which takes over its rd_kafka_conf_t. */
struct bus_config {
    rd_kafka_conf_t *consumer, *producer; /* of the intake; of its dead letters */
    char *dead_letters;                   /* the topic */
    rd_kafka_topic_partition_list_t *topics;
    rd_kafka_conf_t *reader, *writer; /* of the rewards feed: reads cursors; writes all */
    char *cursors;                    /* the topic */
    char *transactional_id;
};
MUST_CHECK bool bus_config_read(struct bus_config *ret, const struct bus_settings *settings,
                                char **ret_why);
void bus_config_free(struct bus_config *config);

/* --- clients ---------------------------------------------------------------------------------- */

/* As rd_kafka_new. Makes every client; kafka_client.c says why. */
MUST_CHECK rd_kafka_t *kafka_client_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, char *why,
                                        size_t why_bytes);

/* --- how a client is connected ---------------------------------------------------------------- */

struct broker_link {
    const char *side;         /* intake or rewards_feed, for the log */
    bool is_away;             /* no broker is connected, and that is logged */
    char away_reason[256];    /* the latest */
    rd_kafka_resp_err_t said; /* the error logged last */
};
void broker_link_error(struct broker_link *link, int code, const char *reason);
/* A broker is connected (again). */
void broker_link_up(struct broker_link *link);
void broker_link_log(const rd_kafka_t *rk, int level, const char *facility, const char *text);
/* Leaves the group, so that other processes get its partitions at once; calls callbacks. */
void broker_link_leave(rd_kafka_t *consumer, struct env *env);

/* --- dead letters ----------------------------------------------------------------------------- */

/* What is left out of a letter that is too large. */
enum letter_cut { LETTER_WHOLE, LETTER_NO_VALUE, LETTER_BARE };

/* One event, or one unreadable message; all memory is the group's. */
struct letter {
    const rd_kafka_message_t *of;
    struct str value;               /* absent: the message has none, or it is too large */
    struct str reason, field, code; /* field and code of the first fault; absent: none */
    struct str rejection;           /* the rejection as POST answers it; absent: it is no event's */
    enum letter_cut cut;
    bool is_written;
};

struct dead_letters;
/* Takes over the config's producer. */
MUST_CHECK struct dead_letters *dead_letters_new(struct bus_config *config, char **ret_why);
void dead_letters_free(struct dead_letters *to);
/* Blocks for at most about message.timeout.ms. False: some are not written; *ret_why (a literal or
 * librdkafka's) says why, and written ones are marked. Keeps no pointer to the letters. */
MUST_CHECK bool dead_letters_write(struct dead_letters *to, struct letter *letters, size_t count,
                                   const atomic_bool *stopping, const char **ret_why);

/* Reads other nodes' changes of accounts on the control thread, and waits for that. */
enum store_status bus_catch_up(struct control *control, struct waiter *waiter, struct env *env);

/* --- messages that are taken together --------------------------------------------------------- */

/* The first waiting messages, read and stored as one batch. */
struct group {
    size_t messages; /* number of these messages; 0: none under way */
    bool is_durable; /* only the letters are still to be written */
    struct arena arena;
    struct letter *letters;
    size_t letter_count, letter_room;
    size_t rejected; /* letters about one event */
};

struct bus {
    uint32_t magic;
    struct bus_options options;
    struct control *control;
    rd_kafka_t *consumer;
    struct dead_letters *dead_letters;
    struct intake *intake;
    struct waiter waiter;
    pthread_t thread;
    bool is_started;
    atomic_bool stopping;
    rd_kafka_message_t **waiting; /* in order of arrival */
    size_t waiting_count, waiting_room;
    struct group group;
    bool is_committing;  /* waits for the answer to a commit */
    bool is_uncommitted; /* there are finished messages without a commit */
    struct broker_link link;
    struct {
        atomic_llong messages, dead_letters, partitions, lag, brokers_up;
        atomic_bool paused;
    } numbers;
};

/* Reads as many of the first waiting messages as fit into a batch, and waits until the store has
 * their events. Then the group's letters are the rejected ones. On failure nothing of the group is
 * kept. */
enum store_status group_store(struct bus *bus);
/* Forgets the group, but not its messages. */
void group_drop(struct bus *bus);

/* librdkafka's callback; context is the bus. librdkafka keeps the JSON. */
int bus_take_statistics(rd_kafka_t *consumer, char *json, size_t n, void *context);
