/* The rewards feed as a topic of Kafka: every reward of every partner, once, in the order of the
 * partner's feed (GET /api/v1/rewards), as the feed's item was when it was written.
 *
 * A transaction holds rewards and, in a second topic, the cursors behind them: both are there or
 * neither. Cursors are read back from that topic, so nothing is kept in the store, and the same
 * cursor goes on in the interface's feed.
 *
 * Of several processes one writes: it has partition 0 of the cursors' topic in the consumer group
 * that all of them join. Should two believe that they have it, Kafka lets only the later one commit
 * (transactional.id). */
#pragma once

#include "bus/bus.h"

struct rewards_feed;

/* settings.rewards_topic is given. NULL: *ret_why (malloc'ed). */
MUST_CHECK struct rewards_feed *rewards_feed_new(const struct bus_settings *settings,
                                                 struct env *env, struct store *store,
                                                 struct directory *directory, char **ret_why);
/* NULL is fine for these three: no rewards are written. */
void rewards_feed_start(struct rewards_feed *feed, struct control *control);
void rewards_feed_stop(struct rewards_feed *feed); /* asks it to end */
/* Waits for its end. Before control and the store go. */
void rewards_feed_free(struct rewards_feed *feed);

struct rewards_feed_numbers {
    int64_t rewards;   /* committed by this process */
    bool is_writing;   /* it is the one that writes */
    int64_t behind_ms; /* while it is: all that was accepted so long ago is in the topic */
};
/* Any thread. */
void rewards_feed_get_numbers(const struct rewards_feed *feed, struct rewards_feed_numbers *ret);
