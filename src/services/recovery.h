/* Recoveries: many resends at a limited rate. One thread hands the matching callbacks to their
 * lanes, never faster than the rate, and never to a lane that is busy: new callbacks go first, and
 * a receiver that has just come back gets no flood.
 *
 * Durable: a recovery is an object of the store, written before the answer and then once a second
 * with its position. After a crash at most the last second is repeated; a callback that is pending
 * by then is no longer among the dead ones. */
#pragma once

#include "delivery/delivery.h"
#include "store/store.h"
#include "json/reader.h"

#define RECOVERY_ID_BYTES 40
#define RECOVERY_RATE_MOST 1000
#define RECOVERIES_RUNNING_MOST 20 /* per account: 409 beyond */

/* The recovery's position in one app: the state that it searches now, and the last event. */
struct recovery_part {
    uint32_t app_no;
    enum callback_state state; /* CALLBACK_NONE: finished */
    uint64_t after_event_no;
};

struct recovery {
    char id[RECOVERY_ID_BYTES];
    uint32_t account_no, app_no; /* app_no 0: all of the account's */
    int64_t from_ms, to_ms;      /* by acceptance, as requested */
    /* to_ms. If that is not before the request: INT64_MAX, so that callbacks with a later time,
     * from a clock that was ahead, are included. */
    int64_t until_ms;
    uint64_t last_event_no; /* later events were accepted after the request */
    int64_t created_ms;
    unsigned states; /* bits, 1 << state */
    int32_t rate_per_second;
    int64_t matched, resent;
    int64_t purged, erased;      /* not sent, as the body is deleted: see enum resend_verdict */
    struct recovery_part *parts; /* malloc'ed */
    size_t part_count;
};

bool recovery_is_done(const struct recovery *r);
/* The first requested state after `state`; CALLBACK_NONE: none. */
enum callback_state recovery_next_state(unsigned states, enum callback_state state);
void recovery_print(struct buf *to, const struct recovery *r);
/* False: it cannot be read; nothing is allocated. */
MUST_CHECK bool recovery_read(const struct json *document, struct recovery *ret);

struct recoveries;

struct recoveries *recoveries_new(struct env *env);
/* Loads a stored one, before the start. */
MUST_CHECK bool recoveries_load(struct recoveries *all, struct str document);
/* Takes over one that another node has changed; document absent: deleted. recoveries_find finds a
 * new one at once; the recoveries' thread takes over the changes. Any thread, after the start. */
void recoveries_refresh(struct recoveries *all, struct str id, struct str document);
void recoveries_start(struct recoveries *all, struct store *store, struct delivery *delivery);
/* Stores the positions and ends the thread; before delivery stops. */
void recoveries_stop(struct recoveries *all);
void recoveries_free(struct recoveries *all);

/* Any thread. Takes over r->parts; r is in the store already. */
void recoveries_add(struct recoveries *all, const struct recovery *r);
size_t recoveries_running(struct recoveries *all, uint32_t account_no);
/* A copy without parts. */
MUST_CHECK bool recoveries_find(struct recoveries *all, struct str id, struct recovery *ret,
                                bool *ret_done);

/* Ends and deletes one; `done` is posted when that is durable. STORE_NOT_FOUND: there is none. */
struct recovery_removal {
    struct task done;
    struct executor *reply_to;
    struct str id;
    const struct object_part *parts; /* as object_change's */
    size_t part_count;
    enum store_status status;
    struct recovery_removal *next;
};
void recoveries_remove(struct recoveries *all, struct recovery_removal *removal);
