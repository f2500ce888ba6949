/* What the files of bus/ share. */
#pragma once

#include "base/waiter.h"
#include "bus/bus.h"
#include "intake/intake_answer.h"

#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdatomic.h>

/* --- the settings, read ----------------------------------------------------------------------- */

/* A client that is made of a rd_kafka_conf_t takes it: then NULL. */
struct bus_config {
    rd_kafka_conf_t *consumer, *producer; /* of the intake, and of its dead letters */
    char *dead_letters;                   /* the topic */
    rd_kafka_topic_partition_list_t *topics;
    rd_kafka_conf_t *reader, *writer; /* of the rewards feed: of its cursors, and of all of it */
    char *cursors;                    /* the topic */
    char *transactional_id;
};
MUST_CHECK bool bus_config_read(struct bus_config *ret, const struct bus_settings *settings,
                                char **ret_why);
void bus_config_free(struct bus_config *config);

/* --- clients ---------------------------------------------------------------------------------- */

/* As rd_kafka_new; every client is made by this one (kafka_client.c says why). */
MUST_CHECK rd_kafka_t *kafka_client_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, char *why,
                                        size_t why_bytes);

/* --- how a client is connected ---------------------------------------------------------------- */

struct broker_link {
    const char *side;         /* intake or rewards_feed, for the log */
    bool is_away;             /* no broker is reached, and the log has it */
    char away_reason[256];    /* the latest */
    rd_kafka_resp_err_t said; /* the error that the log has last */
};
void broker_link_error(struct broker_link *link, int code, const char *reason);
/* A broker is reached (again). */
void broker_link_up(struct broker_link *link);
void broker_link_log(const rd_kafka_t *rk, int level, const char *facility, const char *text);
/* Leaves the group, so that others have its partitions at once; callbacks come. */
void broker_link_leave(rd_kafka_t *consumer, struct env *env);

/* --- dead letters ----------------------------------------------------------------------------- */

/* One event, or one message that could not be read; all its memory is the group's. */
/* What a letter that is too large is sent without. */
enum letter_cut { LETTER_WHOLE, LETTER_NO_VALUE, LETTER_BARE };

struct letter {
    const rd_kafka_message_t *of;
    struct str value;               /* absent: the message has none, or it is too large */
    struct str reason, field, code; /* field and code: of the first fault; absent: of none */
    struct str rejection;           /* as POST answers it, in JSON; absent: of no event */
    enum letter_cut cut;
    bool is_written;
};

struct dead_letters;
/* Takes the config's producer. */
MUST_CHECK struct dead_letters *dead_letters_new(struct bus_config *config, char **ret_why);
void dead_letters_free(struct dead_letters *to);
/* Blocking, at most about message.timeout.ms. False: some are not written, *ret_why (a literal or
 * librdkafka's) says why; those that are, are marked. Nothing of the letters is used afterwards. */
MUST_CHECK bool dead_letters_write(struct dead_letters *to, struct letter *letters, size_t count,
                                   const atomic_bool *stopping, const char **ret_why);

/* Takes in what other nodes have changed of accounts, on the control thread, and waits for it. */
enum store_status bus_catch_up(struct control *control, struct waiter *waiter, struct env *env);

/* --- messages that are taken together --------------------------------------------------------- */

/* The first messages that wait, read and stored as one batch. */
struct group {
    size_t messages; /* of those that wait; 0: none is under way */
    bool is_durable; /* and the letters are to be written */
    struct arena arena;
    struct letter *letters;
    size_t letter_count, letter_room;
    size_t rejected; /* letters that are about one event */
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
    rd_kafka_message_t **waiting; /* in the order of their coming */
    size_t waiting_count, waiting_room;
    struct group group;
    bool is_committing;  /* the answer to a commit is awaited */
    bool is_uncommitted; /* something is done with that no commit has been asked for */
    struct broker_link link;
    struct {
        atomic_llong messages, dead_letters, partitions, lag, brokers_up;
        atomic_bool paused;
    } numbers;
};

/* Reads the first messages that wait as far as one batch takes them, and waits until the store has
 * their events; then the group's letters are what was rejected. Else nothing of it is kept. */
enum store_status group_store(struct bus *bus);
/* Forgets the group, not its messages. */
void group_drop(struct bus *bus);

/* librdkafka's callback, context is the bus. Its JSON stays its own. */
int bus_take_statistics(rd_kafka_t *consumer, char *json, size_t n, void *context);
