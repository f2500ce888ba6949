/* What a lane knows about its callbacks in the store, and the positions of its scans for callbacks
 * that are due, given up, or due too late. Pages of the scans take turns. Pure state; times are
 * arguments. */
#pragma once

#include "store/store.h"

enum lane_page_kind {
    PAGE_FILL,  /* due callbacks, for attempts */
    PAGE_DRAIN, /* all callbacks, to skip them */
    PAGE_PROBE, /* one due callback, for the next attempt of a shut lane */
    PAGE_SWEEP, /* of a shut lane: callbacks that callback_is_given_up declares dead */
    PAGE_LATE,  /* the clock was or may have been put back: callbacks due later, to date anew */
};

/* A shut lane's search for callbacks that are given up: some pages from the oldest on, as long as
 * they contain any, then from where the last search ended. */
struct lane_sweep {
    int64_t not_before_mono_ms;
    struct scan_cursor at, rolled;
    bool rolls;
};

/* Dating anew (dispatcher_clock.c). */
struct lane_dating {
    int64_t late_ms; /* by how much callbacks in the store may be due too late; 0: nothing to do */
    struct scan_cursor at;
};

struct lane_scans {
    bool is_asked;     /* a page is under way */
    bool is_stale;     /* the page was read before an erasure: discard it */
    bool is_behind;    /* a resend came after the page was asked for and may be missing in it */
    bool is_suspected; /* dispatcher_suspect_dates was called */
    uint8_t kind;      /* enum lane_page_kind */
    uint8_t empty_scans;
    int64_t not_before_mono_ms; /* the next page at the earliest */
    int64_t next_due_ms;        /* callbacks may be due from then on; INT64_MAX: none */
    int64_t dropped_due_ms;     /* the same for callbacks that left memory since the scan began */
    struct scan_cursor due;
    struct lane_sweep sweep;
    struct lane_dating dating;
};

void scans_init(struct lane_scans *s);
/* Callbacks in the store may be due from due_ms on. */
void scans_note_waiting(struct lane_scans *s, int64_t due_ms);
/* The store may have callbacks that are due up to by_ms too late; those due by from_ms are left
 * alone. */
void scans_note_late(struct lane_scans *s, int64_t by_ms, int64_t from_ms);
/* A page was asked for. */
void scans_ask(struct lane_scans *s, enum lane_page_kind kind);
void scans_spoil_page(struct lane_scans *s);
/* The position at which the next page of that kind begins. reopened_ms: see struct
 * lane_downtime. */
struct scan_cursor scans_from(const struct lane_scans *s, enum lane_page_kind kind,
                              int64_t reopened_ms);
void scans_restart(struct lane_scans *s); /* restarts each scan except the dating */
/* All items of the page are handled. taken: how many of them were of use. True if this was the last
 * page of a scan for due callbacks that has seen all of them. */
bool scans_page_ended(struct lane_scans *s, const struct due_page *page, size_t taken,
                      int64_t give_up_ms, int64_t now_ms, int64_t now_mono_ms);
void scans_page_failed(struct lane_scans *s, int64_t now_mono_ms); /* the store was busy */
