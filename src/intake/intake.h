/* From the bytes of a request to judged items (contract, section 3).
 *
 * Each item is judged alone: a valid one becomes a candidate for the store, any other a rejection
 * with every fault found. Whether a candidate is a duplicate, a conflict, or lacks its original
 * depends on what is stored: the store decides that by domain/acceptance.h. The answer
 * (intake/intake_answer.h) combines both.
 *
 * Duplicates are recognised before any judgement that depends on more than the item's own bytes. So
 * an item that is valid by itself, but refused for something that may have changed since it was
 * first sent (the time, the settings of client and app), becomes a candidate, too: it is marked
 * `refused`, and its reasons are kept here until the store says whether it is a duplicate.
 *
 * A `struct intake` belongs to one thread. All results are in the caller's arena and borrow from
 * the body, so both must live until the store is done with the candidates. */
#pragma once

#include "accounts/accounts.h"
#include "base/problem.h"

enum intake_format { INTAKE_JSON, INTAKE_NDJSON, INTAKE_UNSUPPORTED };

#define INTAKE_UNSUPPORTED_TEXT "Send events as application/json or application/x-ndjson."

/* By the media type without its parameters; absent means JSON. */
enum intake_format intake_format_of(struct str content_type);

struct intake_request {
    struct str body;
    enum intake_format format;
    int64_t now_ms;         /* arrival: the default Timestamp, and the middle of the time window */
    uint32_t account_no;    /* only this account's clients are known; 0: all clients */
    bool imported;          /* events of any age; their callbacks are skipped */
    struct str traceparent; /* as it came; for all events */
};

struct intake_rejection {
    uint32_t index;      /* in the request, from 0 */
    struct str event_id; /* absent: none that can be shown */
    struct str source;   /* the item as it was sent */
    struct problems faults;
};

struct intake_items {
    struct candidate *items;
    uint32_t *indexes;         /* of the items, ascending */
    struct str *sources;       /* the items as they were sent */
    struct problems *refusals; /* why an item is `refused`; otherwise empty */
    size_t count;
    struct intake_rejection *rejected; /* ascending */
    size_t rejected_count;
    /* an item is refused for its client or a setting that another node may know better */
    bool doubt;
};

enum intake_result {
    INTAKE_READ,
    INTAKE_UNREADABLE, /* 400: *ret_why is a sentence */
    INTAKE_TOO_MANY,   /* 413: more than LIMIT_EVENTS_PER_REQUEST */
};

struct intake;
/* Both arguments are borrowed. `secret` keys the hashes of events. */
struct intake *intake_new(struct directory *directory, const struct hash_secret *secret);
void intake_free(struct intake *intake);

enum intake_result intake_read(struct intake *intake, const struct intake_request *request,
                               struct arena *arena, struct intake_items *ret_items,
                               struct str *ret_why);
