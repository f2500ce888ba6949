/* A destination, scheme://host:port: what its lanes share. It bounds the exchanges under way
 * with one host, and notices when the host itself cannot be reached, so that five hundred lanes
 * on one dead platform cost one try at a time. Pure state: times are arguments. */
#pragma once

#include "base/env.h"
#include "base/hash_map.h"
#include "base/list.h"
#include "base/str.h"
#include "delivery/heap.h"
#include "domain/attempt.h"

struct lane;

#define DESTINATION_MAGIC 0xDE571A70u
#define DESTINATION_SEATS 512       /* exchanges under way with one host, of one loop */
#define DESTINATION_TEST_SEATS 8    /* of them, for test callbacks */
#define DESTINATION_DEAD_FAILURES 8 /* connect-level failures in a row */
#define DESTINATION_PROBE_FIRST_MS 5000
#define DESTINATION_PROBE_LAST_MS 60000
#define DESTINATION_RAMP_FIRST 4 /* seats just after the host came back */

struct destination {
    uint32_t magic;
    struct hash_node node;
    struct waker waker;  /* dead: the next probe */
    char *name;          /* scheme://host:port */
    uint32_t refs;       /* lanes and exchanges */
    struct list lanes;   /* all lanes whose URL points here (lane.at_destination) */
    struct list blocked; /* of them, those that wait for a seat or a probe (lane.blocked) */
    int32_t in_flight;
    int32_t tests_in_flight; /* of these */
    int32_t ramp;            /* seats while it is coming back; grows with each success */
    int32_t failed_run;      /* connect-level failures since the last connection */
    bool dead;
    struct lane *probe_holder; /* dead: whose callback is the one being tried */
    bool probe_under_way;      /* that try has begun: held until it ends, even if the lane moves */
    int64_t probe_mono_ms, probe_wait_ms;
};

struct destination *destination_new(const char *name, size_t name_bytes);
void destination_free(struct destination *d); /* without references */

/* Whether the failure is the host's, not the answer of one URL on it. */
bool destination_is_judged_by(enum attempt_class c);
bool destination_has_seat(const struct destination *d);
/* A test of a host that is dead shows what is wrong with it. */
bool destination_has_test_seat(const struct destination *d);
/* Dead: whether this lane may make the one try that is due. */
bool destination_grants_probe(const struct destination *d, const struct lane *lane,
                              int64_t now_mono_ms);
/* Dead, and no try is being made: the next one is that lane's, and may be made at once. */
void destination_give_probe(struct destination *d, struct lane *lane);
/* It is given up again; false: it was not that lane's, or its try is under way. */
bool destination_take_probe_back(struct destination *d, const struct lane *lane);
/* The try itself: the lane keeps it until it ends, even if it moves to another destination. */
void destination_begin_probe(struct destination *d, struct lane *lane);
void destination_end_probe(struct destination *d, const struct lane *lane);
/* The host was reached. True when it had been dead until now. */
bool destination_reached(struct destination *d);
/* It could not be. was_probe: the try the dead destination was granted; failures of exchanges
 * that began before it died say nothing new. True when it has died of this one. */
bool destination_failed(struct destination *d, bool was_probe, int64_t now_mono_ms,
                        struct rng *rng);
