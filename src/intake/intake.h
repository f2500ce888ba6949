/* It comes in: from the bytes of a request to judged items (contract, section 3).
 *
 * Each item is judged alone: the good ones become candidates for the store, the others rejections
 * with every fault that was found. What only the store can know (duplicates and originals) is left
 * to its verdicts; the answer (intake/answer.h) puts both together.
 *
 * A duplicate is recognised before every judgement that depends on anything but the item's own
 * bytes. So an item that is good by itself, but is refused for what may have changed since it was
 * first sent (the time, the settings of client and app), is a candidate too, marked `refused`,
 * with its reasons kept here until the store has said whether it is a duplicate.
 *
 * A `struct intake` belongs to one thread. All results are in the caller's arena and borrow the
 * body, so both must live until the store is done with the candidates. */
#pragma once

#include "accounts/accounts.h"
#include "base/problem.h"

enum intake_format { INTAKE_JSON, INTAKE_NDJSON, INTAKE_UNSUPPORTED };

#define INTAKE_UNSUPPORTED_TEXT "Send events as application/json or application/x-ndjson."

/* By the media type, whatever its parameters; absent is JSON. */
enum intake_format intake_format_of(struct str content_type);

struct intake_request {
    struct str body;
    enum intake_format format;
    int64_t now_ms;      /* arrival: the default Timestamp, the middle of the time window */
    uint32_t account_no; /* only this account's clients are known; 0: everybody's */
    bool imported;       /* events of any age, whose callbacks are skipped */
};

struct intake_rejection {
    uint32_t index;      /* in the request, from 0 */
    struct str event_id; /* absent: none that could be shown */
    struct str source;   /* the item as it was sent */
    struct problems faults;
};

struct intake_items {
    struct candidate *items;
    uint32_t *indexes;         /* of the items, ascending */
    struct str *sources;       /* of the items, as they were sent */
    struct problems *refusals; /* of the items that are `refused`: why; else empty */
    size_t count;
    struct intake_rejection *rejected; /* ascending */
    size_t rejected_count;
    bool doubt; /* an item's client is unknown or disabled here: another node may know better */
};

enum intake_result {
    INTAKE_READ,
    INTAKE_UNREADABLE, /* 400: *ret_why is a sentence */
    INTAKE_TOO_MANY,   /* 413: more than LIMIT_EVENTS_PER_REQUEST */
};

struct intake;
/* Both arguments are borrowed. `secret` keys the hashes by which the store knows events. */
struct intake *intake_new(struct directory *directory, const struct hash_secret *secret);
void intake_free(struct intake *intake);

enum intake_result intake_read(struct intake *intake, const struct intake_request *request,
                               struct arena *arena, struct intake_items *ret_items,
                               struct str *ret_why);
