/* A destination, scheme://host:port, and what its lanes share. It bounds the exchanges under way
 * with one host. It also detects that the host cannot be reached: then all lanes on that host
 * together make one attempt at a time. Pure state of one loop: times are arguments.
 *
 * A host that accepts connections but answers slowly is not dead. Then domain/window.h bounds the
 * attempts of each lane, and the turns in delivery/dispatcher.c keep lanes from delaying each
 * other. */
#pragma once

#include "base/env.h"
#include "base/hash_map.h"
#include "base/list.h"
#include "base/str.h"
#include "delivery/heap.h"
#include "domain/attempt.h"

struct lane;

#define DESTINATION_MAGIC 0xDE571A70u
#define DESTINATION_SEATS 512       /* exchanges under way with one host, for each loop */
#define DESTINATION_TEST_SEATS 8    /* of them, reserved for test callbacks */
#define DESTINATION_DEAD_FAILURES 8 /* connect-level failures in a row */
#define DESTINATION_PROBE_FIRST_MS 5000
#define DESTINATION_PROBE_LAST_MS MINUTE_MS
#define DESTINATION_RAMP_FIRST 4 /* seats when the host has just become reachable again */

struct destination {
    uint32_t magic;
    struct hash_node node;
    struct waker waker;  /* while dead: the time of the next probe */
    char *name;          /* scheme://host:port */
    uint32_t refs;       /* references by lanes and exchanges */
    struct list lanes;   /* all lanes whose URL points here (lane.at_destination) */
    struct list blocked; /* those of them that wait for a seat or for the probe (lane.blocked) */
    int32_t in_flight;
    int32_t tests_in_flight; /* of these */
    int32_t ramp;            /* seats while the host recovers; grows with each success */
    int32_t failed_run;      /* connect-level failures since the last connection */
    bool dead;
    struct lane *probe_holder; /* while dead: the lane that makes the probe */
    /* the probe has begun: the lane keeps it until it ends, even if the lane moves */
    bool probe_under_way;
    int64_t probe_mono_ms, probe_wait_ms;
};

struct destination *destination_new(const char *name, size_t name_bytes);
void destination_free(struct destination *d); /* only without references */

/* True if the failure says something about the host, not only about one URL on it. */
bool destination_is_judged_by(enum attempt_class c);
bool destination_has_seat(const struct destination *d);
/* True if a test may start. Tests of a dead host are allowed, because they show what is wrong with
 * it. */
bool destination_has_test_seat(const struct destination *d);
/* While dead: true if this lane may make the probe that is due. */
bool destination_grants_probe(const struct destination *d, const struct lane *lane,
                              int64_t now_mono_ms);
/* While dead and no probe is under way: gives the next probe to this lane, due at once. */
void destination_give_probe(struct destination *d, struct lane *lane);
/* Takes the probe from the lane. False: the lane did not have it, or the probe is under way. */
bool destination_take_probe_back(struct destination *d, const struct lane *lane);
/* Begin and end of the probe: the lane keeps it until it ends, even if the lane moves to another
 * destination. */
void destination_begin_probe(struct destination *d, struct lane *lane);
void destination_end_probe(struct destination *d, const struct lane *lane);
/* The probe could not be made, by no fault of the host: the next one comes at that time. */
void destination_postpone_probe(struct destination *d, int64_t until_mono_ms);
/* Notes that the host was reached. True if it was dead until now. */
bool destination_reached(struct destination *d);
/* Notes that the host could not be reached. was_probe: the attempt was the probe; failures of
 * exchanges that began before the host was dead do not count again. True if this failure makes it
 * dead. */
bool destination_failed(struct destination *d, bool was_probe, int64_t now_mono_ms,
                        struct rng *rng);
