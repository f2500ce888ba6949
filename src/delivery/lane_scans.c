/* Transitions of a lane's scans. A page under way may show callbacks as they were when it was read.
 * dropped_due_ms notes the callbacks that leave memory meanwhile, so that no scan misses them. */
#include "delivery/lane_scans.h"

#include "base/check.h"

#define EMPTY_SCAN_WAIT_MS 10 /* doubles */
#define EMPTY_SCAN_DOUBLINGS 9
#define BUSY_WAIT_MS 1000
#define SWEEPS_APART_LEAST_MS 1000
#define SWEEPS_APART_MOST_MS (5 * MINUTE_MS)

static bool is_same(struct scan_cursor a, struct scan_cursor b)
{
    return a.due_ms == b.due_ms && a.event_no == b.event_no;
}

void scans_init(struct lane_scans *s)
{
    *s = (struct lane_scans){.next_due_ms = INT64_MAX, .dropped_due_ms = INT64_MAX};
}

void scans_note_waiting(struct lane_scans *s, int64_t due_ms)
{
    if (due_ms < s->next_due_ms)
        s->next_due_ms = due_ms;
    if (due_ms < s->dropped_due_ms)
        s->dropped_due_ms = due_ms;
}

void scans_note_late(struct lane_scans *s, int64_t by_ms, int64_t from_ms)
{
    if (s->is_asked && s->kind == PAGE_LATE)
        s->is_stale = true; /* the scan starts again */
    if (s->dating.late_ms < by_ms)
        s->dating.late_ms = by_ms;
    s->dating.at = (struct scan_cursor){.due_ms = from_ms};
}

void scans_ask(struct lane_scans *s, enum lane_page_kind kind)
{
    ASSERT(!s->is_asked);
    s->is_asked = true;
    s->is_stale = false;
    s->is_behind = false;
    s->kind = (uint8_t)kind;
    if (kind != PAGE_SWEEP && kind != PAGE_LATE && scan_cursor_is_start(s->due))
        s->dropped_due_ms = INT64_MAX;
}

void scans_spoil_page(struct lane_scans *s)
{
    s->is_stale = s->is_asked;
}

static struct scan_cursor sweep_from(const struct lane_sweep *sweep, int64_t reopened_ms)
{
    struct scan_cursor at = sweep->rolls ? sweep->rolled : sweep->at;
    /* Callbacks that were due when the lane reopened have an attempt first. */
    if (reopened_ms > 0 && at.due_ms <= reopened_ms)
        at = (struct scan_cursor){.due_ms = reopened_ms + 1};
    return at;
}

struct scan_cursor scans_from(const struct lane_scans *s, enum lane_page_kind kind,
                              int64_t reopened_ms)
{
    if (kind == PAGE_SWEEP)
        return sweep_from(&s->sweep, reopened_ms);
    return kind == PAGE_LATE ? s->dating.at : s->due;
}

void scans_restart(struct lane_scans *s)
{
    s->due = (struct scan_cursor){0};
    s->sweep = (struct lane_sweep){0};
}

static int64_t sweeps_apart_ms(int64_t give_up_ms)
{
    int64_t apart_ms = give_up_ms / 8;
    if (apart_ms > SWEEPS_APART_MOST_MS)
        return SWEEPS_APART_MOST_MS;
    return apart_ms < SWEEPS_APART_LEAST_MS ? SWEEPS_APART_LEAST_MS : apart_ms;
}

static void sweep_ended(struct lane_sweep *sweep, const struct due_page *page, size_t taken,
                        int64_t give_up_ms, int64_t now_mono_ms)
{
    bool goes_on = page->more && taken > 0;
    struct scan_cursor at = page->more ? page->last : (struct scan_cursor){0};
    if (sweep->rolls)
        sweep->rolled = at;
    else if (goes_on)
        sweep->at = at;
    if (goes_on)
        return;
    if (!sweep->rolls && page->more) {
        sweep->rolls = true;
        if (sweep->rolled.due_ms < at.due_ms) /* everything before this position is known to stay */
            sweep->rolled = at;
        return;
    }
    sweep->rolls = false;
    sweep->at = (struct scan_cursor){0};
    sweep->not_before_mono_ms = now_mono_ms + sweeps_apart_ms(give_up_ms);
}

/* The store has due callbacks, but all of them are in the lane already: the next page can wait. */
static void wait_after_empty_scan(struct lane_scans *s, int64_t now_mono_ms)
{
    s->not_before_mono_ms = now_mono_ms + (EMPTY_SCAN_WAIT_MS << s->empty_scans);
    if (s->empty_scans < EMPTY_SCAN_DOUBLINGS)
        s->empty_scans++;
}

/* A page that has not moved on found nothing: `more` then means callbacks that came later. */
static void dating_ended(struct lane_dating *dating, const struct due_page *page)
{
    if (page->more && !is_same(page->last, dating->at))
        dating->at = page->last;
    else
        dating->late_ms = 0;
}

static bool due_scan_ended(struct lane_scans *s, const struct due_page *page, size_t taken,
                           int64_t now_ms, int64_t now_mono_ms)
{
    if (s->kind == PAGE_PROBE && taken > 0) { /* the rest of the page was not used */
        s->due = (struct scan_cursor){0};
        scans_note_waiting(s, page->due_until_ms);
        return false;
    }
    if (taken > 0)
        s->empty_scans = 0;
    if (page->more) {
        bool stands = is_same(page->last, s->due);
        s->due = page->last;
        if (stands)
            wait_after_empty_scan(s, now_mono_ms);
        return false;
    }
    bool has_seen_all = scan_cursor_is_start(s->due) && !s->is_behind;
    s->due = (struct scan_cursor){0};
    s->next_due_ms = page->next_due_ms < s->dropped_due_ms ? page->next_due_ms : s->dropped_due_ms;
    if (taken == 0 && s->next_due_ms <= now_ms)
        wait_after_empty_scan(s, now_mono_ms);
    return has_seen_all;
}

bool scans_page_ended(struct lane_scans *s, const struct due_page *page, size_t taken,
                      int64_t give_up_ms, int64_t now_ms, int64_t now_mono_ms)
{
    ASSERT(s->is_asked);
    s->is_asked = false;
    if (s->kind == PAGE_SWEEP)
        sweep_ended(&s->sweep, page, taken, give_up_ms, now_mono_ms);
    else if (s->kind == PAGE_LATE)
        dating_ended(&s->dating, page);
    else
        return due_scan_ended(s, page, taken, now_ms, now_mono_ms);
    return false;
}

void scans_page_failed(struct lane_scans *s, int64_t now_mono_ms)
{
    ASSERT(s->is_asked);
    s->is_asked = false;
    s->not_before_mono_ms = now_mono_ms + BUSY_WAIT_MS;
}
