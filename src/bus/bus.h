/* Events from Kafka. A message's value is handled like the body of POST /api/v1/events: the same
 * reader, verdicts and store.
 *
 * There is one thread, with one consumer of a group. A message's offset is committed after its
 * events are durable and its rejected events are in the dead-letter topic. After a crash before
 * that, the message is read again, and its events are duplicates by their EventId. While the store
 * or the dead-letter topic accepts nothing, partitions are paused and the same messages are tried
 * again.
 *
 * A broker's failure stops nothing: librdkafka reconnects. */
#pragma once

#include "accounts/directory.h"
#include "base/buf.h"
#include "services/control.h"
#include "store/store.h"

struct bus_settings {
    const char *topics;        /* separated by commas; NULL: no events from Kafka */
    const char *rewards_topic; /* NULL: no rewards feed */
    const char *config_file;   /* lines of `name=value`, librdkafka's properties */
};

/* Checks the topics and the file, without a network. *ret_why is malloc'ed. */
MUST_CHECK bool bus_settings_check(const struct bus_settings *settings, char **ret_why);
/* The same, and has librdkafka make its clients: only then does it check combinations of settings
 * and read certificates. Connects to no broker; with Kerberos it runs the command for a ticket. */
MUST_CHECK bool bus_settings_try(const struct bus_settings *settings, char **ret_why);

struct bus_options {
    struct bus_settings settings;
    struct env *env;
    struct store *store;
    struct directory *directory;
    const struct hash_secret *hash_secret;
    /* On the bus's thread, once per durable batch; rejected: number of rejected items. */
    void (*taken)(void *context, const struct intake_batch *batch, size_t rejected);
    void *context;
};

struct bus;

/* NULL: *ret_why (malloc'ed); may be librdkafka's words. */
MUST_CHECK struct bus *bus_new(const struct bus_options *options, char **ret_why);
void bus_start(struct bus *bus, struct control *control);
/* Asks it to end: it finishes and commits the batch under way, and leaves the group. */
void bus_stop(struct bus *bus);
/* Waits for its end; accepts NULL. Before control and the store are freed. */
void bus_free(struct bus *bus);

struct bus_numbers {
    int64_t messages;     /* finished: stored, or in the dead-letter topic */
    int64_t dead_letters; /* written to the dead-letter topic */
    int64_t partitions;   /* assigned to this process */
    int64_t lag;          /* their unfinished messages, as last reported */
    int64_t brokers_up;   /* brokers connected, as last reported */
    bool paused;          /* the store or the dead-letter topic accepts nothing */
};
/* Any thread. */
void bus_get_numbers(const struct bus *bus, struct bus_numbers *ret);
