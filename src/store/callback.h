/* A pending callback in memory, with everything that an attempt needs.
 *
 * It has one owner at a time: first the store, then the dispatcher's inbox, then its lane. It is
 * immutable except for the members marked below, which only the lane changes. */
#pragma once

#include "domain/callback_life.h"
#include "store/nodes/handoff.h"
#include "store/outcome.h"

#define CALLBACK_MAGIC 0xCA11BAC1u

struct callback {
    uint32_t magic;
    uint32_t account_no, app_no;
    uint64_t event_no;
    enum event_type type;
    enum lane_kind lane;
    bool is_test;
    uint16_t signature_offset;
    uint32_t bytes;       /* size of this allocation */
    uint64_t original_no; /* a reversal's original; 0: none */
    int64_t occurred_ms, accepted_ms;
    int64_t revenue_micros, reward_micros;
    /* set by PostgreSQL: the event's row presumes delivery (postgresql/pg_row.h), and this is when
     * the callback is due; 0: another row says how it stands */
    int64_t presumed_due_ms;
    /* set by a shared store: nodes/handoff.h decides whether it is still owed */
    struct handoff_stamp stamp;
    /* as in struct event; they are part of this allocation */
    struct str event_id, panelist_id, body;

    /* Changed by the lane only, after the hand-over. */
    struct schedule_place place;
    int32_t attempts_made; /* of this callback so far, those of resends included */
    bool manual;           /* due because of a resend */
    /* a resend of a delivered callback: one attempt, and it stays delivered */
    bool was_delivered;
    bool may_be_erased;    /* its panelist, during an attempt: its texts are used no more */
    uint64_t resend_no;    /* the latest resend that the owner knows of, see struct outcome */
    struct callback *next; /* link in the owner's list */
};

/* Makes a callback; the texts are copied into its allocation. The caller's, to be freed with
 * callback_free. */
struct callback *callback_new(const struct event *e, const struct callback_life *life);
void callback_free(struct callback *c);
/* For the outcome; the text borrows from the callback. */
struct outcome_presumed callback_presumed(const struct callback *c);
