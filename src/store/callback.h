/* One owed callback in memory, as the store hands it to delivery: everything an attempt needs.
 * It has one owner at a time: the store, then the inbox, then its lane; immutable but for what
 * only the lane touches (marked). */
#pragma once

#include "domain/callback_life.h"
#include "store/nodes/handoff.h"

#define CALLBACK_MAGIC 0xCA11BAC1u

struct callback {
    uint32_t magic;
    uint32_t account_no, app_no;
    uint64_t event_no;
    enum event_type type;
    enum lane_kind lane;
    bool is_test;
    uint16_t signature_offset;
    uint32_t bytes;       /* of its allocation */
    uint64_t original_no; /* a reversal's original; 0: none */
    int64_t occurred_ms, accepted_ms;
    struct handoff_stamp stamp; /* another process's: nodes/handoff.h judges whether it is owed */
    struct str event_id, panelist_id, body; /* body with zeros for Sig; all in one allocation */

    /* The lane's alone once handed over. */
    struct schedule_place place;
    int32_t attempts_made; /* numbers the attempts, resends included */
    bool manual;           /* due because of a resend */
    bool was_delivered;    /* a resend of a delivered one: one try, stays delivered */
    bool is_erased;        /* its panelist was, while it was being tried */
    uint64_t resend_no;    /* the latest resend that its holder knows of, see struct outcome */
    struct callback *next; /* the holder's list */
};

/* Copies the texts into the callback's own allocation; the caller's. */
struct callback *callback_new(const struct event *e, const struct callback_status *status);
void callback_free(struct callback *c);
