/* What a lane does with pages of the store's waiting callbacks: where its scans stand, what of a
 * page it takes, when it asks again. */
#include "delivery/lane_inside.h"

#include "base/check.h"
#include "base/limits.h"

#define EMPTY_SCAN_WAIT_MS 10 /* doubles */
#define EMPTY_SCAN_DOUBLINGS 9
#define BUSY_WAIT_MS 1000
#define SWEEPS_APART_LEAST_MS 1000
#define SWEEPS_APART_MOST_MS (5 * 60 * 1000)

void lane_page_asked(struct lane *lane, enum lane_page_kind kind)
{
    ASSERT(!lane->page_asked && lane->lingering == 0);
    lane->page_asked = true;
    lane->page_is_stale = false;
    lane->page_is_behind = false;
    lane->page_kind = (uint8_t)kind;
    if (kind != PAGE_SWEEP && kind != PAGE_LATE && lane->scan_due_ms == 0 &&
        lane->scan_event_no == 0)
        lane->dropped_due_ms = INT64_MAX;
}

void lane_spoil_page(struct lane *lane)
{
    lane->page_is_stale = lane->page_asked;
}

void lane_page_shows(struct lane *lane, const struct callback *c)
{
    lane_note_shown(lane, c->event_no);
}

bool lane_page_take(struct lane *lane, struct callback *c)
{
    ASSERT(lane->page_asked);
    if (held_find(&lane->held, c->event_no))
        return false;
    enum lane_mode mode = lane_mode(lane);
    bool probe = lane->page_kind == PAGE_PROBE;
    bool due = lane->page_kind != PAGE_DRAIN; /* a page to be skipped: whenever it is due */
    bool wanted = mode == LANE_DRAINING || (mode == LANE_OPEN && due) ||
                  (mode == LANE_SHUT && probe && lane_queued(lane) == 0);
    if (!wanted || lane->in_ram >= LIMIT_LANE_CALLBACKS_IN_RAM) {
        lane_note_waiting(lane, c->place.due_ms);
        return false;
    }
    lane_remember(lane, c, HELD_QUEUED);
    callback_queue_push(&lane->due, c);
    lane->probe_ready = mode == LANE_SHUT;
    return true;
}

void lane_sweep_take(struct lane *lane, uint64_t event_no)
{
    struct held_entry *e = held_add(&lane->held, event_no);
    e->place = HELD_GONE;
    e->recording = 1;
}

/* The page under way has come: entries that only waited for it may go. */
static void release_lingering(struct lane *lane)
{
    /* Removal shifts later entries back, so the slot is looked at again. */
    for (uint32_t i = 0; i < lane->held.capacity && lane->lingering > 0;) {
        const struct held_entry *e = &lane->held.slots[i];
        if (e->event_no && e->place == HELD_GONE && e->recording == 0) {
            held_remove(&lane->held, e->event_no);
            lane->lingering--;
        } else {
            i++;
        }
    }
    ASSERT(lane->lingering == 0);
}

static void sweep_ended(struct lane *lane, const struct due_page *page, size_t taken,
                        const struct lane_now *now)
{
    struct lane_sweep *sweep = &lane->sweep;
    bool goes_on = page->more && taken > 0;
    int64_t due_ms = page->more ? page->last_due_ms : 0;
    uint64_t event_no = page->more ? page->last_event_no : 0;
    if (sweep->rolls) {
        sweep->rolled_due_ms = due_ms;
        sweep->rolled_event_no = event_no;
    } else if (goes_on) {
        sweep->due_ms = due_ms;
        sweep->event_no = event_no;
    }
    if (goes_on)
        return;
    if (!sweep->rolls && page->more) {
        sweep->rolls = true;
        if (sweep->rolled_due_ms < due_ms) { /* all before that is known to stay */
            sweep->rolled_due_ms = due_ms;
            sweep->rolled_event_no = event_no;
        }
        return;
    }
    int64_t apart_ms = lane->shared->give_up_ms / 8;
    if (apart_ms > SWEEPS_APART_MOST_MS)
        apart_ms = SWEEPS_APART_MOST_MS;
    if (apart_ms < SWEEPS_APART_LEAST_MS)
        apart_ms = SWEEPS_APART_LEAST_MS;
    sweep->rolls = false;
    sweep->due_ms = 0;
    sweep->event_no = 0;
    sweep->not_before_mono_ms = now->mono_ms + apart_ms;
}

void lane_sweep_from(const struct lane *lane, struct due_page *page)
{
    const struct lane_sweep *sweep = &lane->sweep;
    page->after_due_ms = sweep->rolls ? sweep->rolled_due_ms : sweep->due_ms;
    page->after_event_no = sweep->rolls ? sweep->rolled_event_no : sweep->event_no;
    /* What was due when the lane reopened has a try of its own first. */
    if (page->after_due_ms <= lane->downtime.reopened_ms && lane->downtime.reopened_ms > 0) {
        page->after_due_ms = lane->downtime.reopened_ms + 1;
        page->after_event_no = 0;
    }
}

/* Something is due, but all that the store shows now is in hand already: no hurry. */
static void wait_after_empty_scan(struct lane *lane, const struct lane_now *now)
{
    lane->page_not_before_mono_ms = now->mono_ms + (EMPTY_SCAN_WAIT_MS << lane->empty_scans);
    if (lane->empty_scans < EMPTY_SCAN_DOUBLINGS)
        lane->empty_scans++;
}

/* A page that has not gone on found nothing: what the store says is more came meanwhile. */
static void dating_ended(struct lane *lane, const struct due_page *page)
{
    bool stands =
        page->last_due_ms == lane->late_due_ms && page->last_event_no == lane->late_event_no;
    if (page->more && !stands) {
        lane->late_due_ms = page->last_due_ms;
        lane->late_event_no = page->last_event_no;
    } else {
        lane->late_ms = 0;
    }
}

static void scan_ended(struct lane *lane, const struct due_page *page, size_t taken,
                       const struct lane_now *now)
{
    bool probe_found = lane->page_kind == PAGE_PROBE && taken > 0;
    if (probe_found) { /* the rest of the page was not looked at */
        lane->scan_due_ms = 0;
        lane->scan_event_no = 0;
        lane_note_waiting(lane, page->due_until_ms);
        return;
    }
    if (taken > 0)
        lane->empty_scans = 0;
    if (page->more) {
        bool stands =
            page->last_due_ms == lane->scan_due_ms && page->last_event_no == lane->scan_event_no;
        lane->scan_due_ms = page->last_due_ms;
        lane->scan_event_no = page->last_event_no;
        if (stands)
            wait_after_empty_scan(lane, now);
        return;
    }
    if (lane->scan_due_ms == 0 && lane->scan_event_no == 0 && !lane->page_is_behind)
        lane->watermark.covers = true;
    lane->scan_due_ms = 0;
    lane->scan_event_no = 0;
    lane->next_due_ms =
        page->next_due_ms < lane->dropped_due_ms ? page->next_due_ms : lane->dropped_due_ms;
    if (taken == 0 && lane->next_due_ms <= now->wall_ms)
        wait_after_empty_scan(lane, now);
}

void lane_page_ended(struct lane *lane, const struct due_page *page, size_t taken,
                     const struct lane_now *now)
{
    ASSERT(lane->page_asked);
    lane->page_asked = false;
    release_lingering(lane);
    if (lane->page_kind == PAGE_SWEEP)
        sweep_ended(lane, page, taken, now);
    else if (lane->page_kind == PAGE_LATE)
        dating_ended(lane, page);
    else
        scan_ended(lane, page, taken, now);
}

void lane_page_failed(struct lane *lane, const struct lane_now *now)
{
    ASSERT(lane->page_asked);
    lane->page_asked = false;
    release_lingering(lane);
    lane->page_not_before_mono_ms = now->mono_ms + BUSY_WAIT_MS;
}
