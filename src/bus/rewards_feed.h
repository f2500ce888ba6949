/* The rewards feed as a Kafka topic: every reward of every partner, once, in the order of the
 * partner's feed (GET /api/v1/rewards), in the form that the feed's item had when it was written.
 *
 * A transaction holds rewards and, in a second topic, the cursors behind them: both become visible
 * together. Cursors are read back from that topic, so the store keeps nothing, and the same cursor
 * is valid for the HTTP feed.
 *
 * Of several processes only one writes: the one that has partition 0 of the cursors' topic in the
 * consumer group of all of them. If two believe to have it, Kafka lets only the later one commit
 * (transactional.id). */
#pragma once

#include "bus/bus.h"

struct rewards_feed;

/* settings.rewards_topic is given. NULL: *ret_why (malloc'ed). */
MUST_CHECK struct rewards_feed *rewards_feed_new(const struct bus_settings *settings,
                                                 struct env *env, struct store *store,
                                                 struct directory *directory, char **ret_why);
/* These three accept NULL: no rewards are written. */
void rewards_feed_start(struct rewards_feed *feed, struct control *control);
void rewards_feed_stop(struct rewards_feed *feed); /* asks it to end */
/* Waits for its end. Before control and the store are freed. */
void rewards_feed_free(struct rewards_feed *feed);

struct rewards_feed_numbers {
    int64_t rewards;   /* committed by this process */
    bool is_writing;   /* this process is the writer */
    int64_t behind_ms; /* if it is writing: everything accepted this long ago is in the topic */
};
/* Any thread. */
void rewards_feed_get_numbers(const struct rewards_feed *feed, struct rewards_feed_numbers *ret);
