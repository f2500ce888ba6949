/* What a lane knows of its callbacks in the store, and where its scans of them stand: for what is
 * due, for what is given up, for what is due too late. Their pages take turns. Pure state; a time
 * is an argument. */
#pragma once

#include "store/store.h"

enum lane_page_kind {
    PAGE_FILL,  /* due ones, to be tried */
    PAGE_DRAIN, /* all, to be skipped */
    PAGE_PROBE, /* one due, to be the next try of a lane that is shut */
    PAGE_SWEEP, /* of a lane that is shut: those that callback_is_given_up says are dead */
    PAGE_LATE,  /* after the clock was put back: all that is due later, to be dated anew */
};

/* The search of a shut lane for what is given up: a few pages from the oldest on, as long as they
 * have any, then from where the last search ended. */
struct lane_sweep {
    int64_t not_before_mono_ms;
    struct scan_cursor at, rolled;
    bool rolls;
};

/* Dating anew (dispatcher_clock.c). */
struct lane_dating {
    int64_t late_ms; /* how much too late the store's may be at most; 0: nothing to do */
    struct scan_cursor at;
};

struct lane_scans {
    bool is_asked;  /* a page is under way */
    bool is_stale;  /* it was read before something was erased: not to be used */
    bool is_behind; /* a resend came since it was asked for: it may not have been stored yet */
    uint8_t kind;   /* enum lane_page_kind */
    uint8_t empty_scans;
    int64_t not_before_mono_ms; /* the next page */
    int64_t next_due_ms;        /* something may be due from then on; INT64_MAX: nothing */
    int64_t dropped_due_ms;     /* the same, of what left memory since the scan began */
    struct scan_cursor due;
    struct lane_sweep sweep;
    struct lane_dating dating;
};

void scans_init(struct lane_scans *s);
/* Something may be due in the store from due_ms on. */
void scans_note_waiting(struct lane_scans *s, int64_t due_ms);
/* The store may have callbacks that are due too late, by so much at most; those due by from_ms are
 * let be. */
void scans_note_late(struct lane_scans *s, int64_t by_ms, int64_t from_ms);
/* A page was asked for. */
void scans_ask(struct lane_scans *s, enum lane_page_kind kind);
void scans_spoil_page(struct lane_scans *s);
/* Where a page of that kind begins. reopened_ms: see struct lane_downtime. */
struct scan_cursor scans_from(const struct lane_scans *s, enum lane_page_kind kind,
                              int64_t reopened_ms);
void scans_restart(struct lane_scans *s); /* each scan but the dating, from the start */
/* The page is used up; taken: how many of its items were of use. True when it was the last of a
 * scan for what is due that has seen everything. */
bool scans_page_ended(struct lane_scans *s, const struct due_page *page, size_t taken,
                      int64_t give_up_ms, int64_t now_ms, int64_t now_mono_ms);
void scans_page_failed(struct lane_scans *s, int64_t now_mono_ms); /* the store was busy */
