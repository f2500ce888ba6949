/* Records in a journal group, and their codec. A record has the whole decision: replaying it needs
 * no clock, no settings and no look-up.
 *
 * Layout: u8 kind, u32 length of the fields, then the fields in the order of the structs in
 * store.h: fixed-width little-endian numbers, texts as u32 length + bytes (0xffffffff: absent). A
 * changed kind or layout is a new format of the journal (frame.c). */
#pragma once

#include "base/buf.h"
#include "store/store.h"

enum record_kind {
    RECORD_EVENT = 1,
    RECORD_OUTCOME = 2,
    RECORD_OBJECT = 3,
    RECORD_RESEND = 4,
    RECORD_ERASE = 5
};

struct record_resend {
    uint32_t account_no;
    uint64_t event_no;
    lane_no lane;
    bool was_delivered;
    int64_t due_ms;
};

struct record_erase {
    uint32_t account_no;
    struct str panelist_id; /* the id that is replaced */
    struct str replacement;
};

struct record {
    enum record_kind kind;
    union {
        struct event event; /* its texts borrow from the group */
        struct outcome outcome;
        struct {
            enum object_kind kind;
            struct str id, document;
        } object;
        struct record_resend resend;
        struct record_erase erase;
    };
};

void record_add_event(struct buf *to, const struct event *e);
/* An upper bound of the record that the candidate's event may have, with any original. */
size_t record_event_bytes_most(const struct candidate *c);
void record_add_outcome(struct buf *to, const struct outcome *o);
void record_add_object(struct buf *to, enum object_kind kind, struct str id, struct str document);
void record_add_resend(struct buf *to, const struct record_resend *r);
void record_add_erase(struct buf *to, const struct record_erase *r);
/* Upper bounds of the records that these add. */
size_t record_outcome_bytes_most(const struct outcome *o);
size_t record_object_bytes_most(struct str id, struct str document);
size_t record_erase_bytes_most(const struct record_erase *r);
#define RECORD_RESEND_BYTES_MOST 64

/* Cuts the next record off *rest. False at the end, or with *ret_bad true if the bytes are not a
 * record. */
MUST_CHECK bool record_next(struct str *rest, struct record *ret, bool *ret_bad);
