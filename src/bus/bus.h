/* Events from Kafka: what a message's value holds is taken as a request's body is by POST
 * /api/v1/events: the same reader, the same verdicts, the same store.
 *
 * One thread, one consumer of a group. A message's offset is committed once its events are durable
 * and what was rejected of them is in the dead-letter topic; a crash before that has the message
 * read again, and its events are duplicates by their EventId. While the store or the dead-letter
 * topic takes nothing, partitions are paused and the same messages tried again.
 *
 * A broker that is away stops nothing: librdkafka connects again by itself. */
#pragma once

#include "accounts/directory.h"
#include "base/buf.h"
#include "services/control.h"
#include "store/store.h"

struct bus_settings {
    const char *topics;        /* separated by commas; NULL: there is no intake from Kafka */
    const char *rewards_topic; /* NULL: the rewards feed is not written to Kafka */
    const char *config_file;   /* lines of `name=value` as librdkafka knows them */
};

/* Whether the topics and the file can be used, without a network. *ret_why is malloc'ed. */
MUST_CHECK bool bus_settings_check(const struct bus_settings *settings, char **ret_why);
/* The same, and whether librdkafka makes its clients of them: it judges some settings together, and
 * reads certificates, only then. Asks no broker; with Kerberos it runs the command for a ticket. */
MUST_CHECK bool bus_settings_try(const struct bus_settings *settings, char **ret_why);

struct bus_options {
    struct bus_settings settings;
    struct env *env;
    struct store *store;
    struct directory *directory;
    const struct hash_secret *hash_secret;
    /* On the bus's thread, once per batch that is durable; rejected: items of it. */
    void (*taken)(void *context, const struct intake_batch *batch, size_t rejected);
    void *context;
};

struct bus;

/* NULL: *ret_why (malloc'ed), in librdkafka's words where they are its own. */
MUST_CHECK struct bus *bus_new(const struct bus_options *options, char **ret_why);
void bus_start(struct bus *bus, struct control *control);
/* Asks it to end: what is being stored is finished and committed, and the group is left. */
void bus_stop(struct bus *bus);
/* Waits for its end; NULL is fine. Before control and the store go. */
void bus_free(struct bus *bus);

struct bus_numbers {
    int64_t messages;     /* that are done with: stored, or in the dead-letter topic */
    int64_t dead_letters; /* that the dead-letter topic has */
    int64_t partitions;   /* assigned to this process */
    int64_t lag;          /* messages of these that are not done with, when last heard of */
    int64_t brokers_up;   /* likewise: connected */
    bool paused;          /* the store or the dead-letter topic takes nothing */
};
/* Any thread. */
void bus_get_numbers(const struct bus *bus, struct bus_numbers *ret);
