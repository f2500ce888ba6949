/* Recoveries: many resends, paced. One thread hands the callbacks that a recovery matches out to
 * their lanes, never faster than its rate, and never to a lane that is busy with others: what is
 * fresh goes first, and a receiver that has just come back gets no flood.
 *
 * Durable: a recovery is an object of the store, written before it is answered and then once a
 * second with where it stands. After a crash the last second is done again at most; a callback
 * that is pending by then is no longer among the dead ones. */
#pragma once

#include "delivery/delivery.h"
#include "store/store.h"
#include "json/reader.h"

#define RECOVERY_ID_BYTES 40
#define RECOVERY_RATE_MOST 1000
#define RECOVERIES_RUNNING_MOST 20 /* per account: 409 beyond */

/* Where the recovery stands in one app: the state it looks for now, and behind which event. */
struct recovery_part {
    uint32_t app_no;
    enum callback_state state; /* CALLBACK_NONE: through */
    uint64_t after_event_no;
};

struct recovery {
    char id[RECOVERY_ID_BYTES];
    uint32_t account_no, app_no; /* app_no 0: all of the account's */
    int64_t from_ms, to_ms;      /* of acceptance, as asked */
    /* to_ms; INT64_MAX if that is not before the request: then all that was accepted so far, also
     * what a clock that was ahead has dated later. */
    int64_t until_ms;
    uint64_t last_event_no; /* what was accepted behind it was accepted after the request */
    int64_t created_ms;
    unsigned states; /* bits, 1 << state */
    int32_t rate_per_second;
    int64_t matched, resent;
    int64_t purged, erased; /* not sent: the body is no longer there, see enum resend_verdict */
    struct recovery_part *parts; /* malloc'ed */
    size_t part_count;
};

bool recovery_is_done(const struct recovery *r);
/* The first of the states asked for that comes behind `state`; CALLBACK_NONE: none. */
enum callback_state recovery_next_state(unsigned states, enum callback_state state);
void recovery_print(struct buf *to, const struct recovery *r);
/* False: it is none; nothing is allocated then. */
MUST_CHECK bool recovery_read(const struct json *document, struct recovery *ret);

struct recoveries;

struct recoveries *recoveries_new(struct env *env);
/* A stored one, before the start. */
MUST_CHECK bool recoveries_load(struct recoveries *all, struct str document);
/* One as another node has left it; document absent: it is gone. A new one is found from here on;
 * the recoveries' thread takes changes over. Any thread, after the start. */
void recoveries_refresh(struct recoveries *all, struct str id, struct str document);
void recoveries_start(struct recoveries *all, struct store *store, struct delivery *delivery);
/* Writes down where each stands and ends the thread; before delivery stops. */
void recoveries_stop(struct recoveries *all);
void recoveries_free(struct recoveries *all);

/* Any thread. Takes over r->parts; r is in the store already. */
void recoveries_add(struct recoveries *all, const struct recovery *r);
size_t recoveries_running(struct recoveries *all, uint32_t account_no);
/* A copy without parts. */
MUST_CHECK bool recoveries_find(struct recoveries *all, struct str id, struct recovery *ret,
                                bool *ret_done);

/* Ends and forgets one; done when that is durable. STORE_NOT_FOUND: there is none. */
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
