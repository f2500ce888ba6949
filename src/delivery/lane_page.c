/* Decides which callbacks of a page a lane takes. Its scans: lane_scans.c. */
#include "delivery/lane_inside.h"

#include "base/check.h"
#include "base/limits.h"

void lane_page_asked(struct lane *lane, enum lane_page_kind kind)
{
    ASSERT(lane->lingering == 0);
    scans_ask(&lane->scans, kind);
}

void lane_spoil_page(struct lane *lane)
{
    scans_spoil_page(&lane->scans);
}

void lane_page_shows(struct lane *lane, const struct callback *c)
{
    lane_note_shown(lane, c->event_no);
}

bool lane_page_take(struct lane *lane, struct callback *c)
{
    ASSERT(lane->scans.is_asked);
    if (inflight_find(&lane->inflight, c->event_no))
        return false;
    enum lane_mode mode = lane_mode(lane);
    bool probe = lane->scans.kind == PAGE_PROBE;
    /* a page of callbacks to skip takes them before they are due */
    bool due = lane->scans.kind != PAGE_DRAIN;
    bool wanted = mode == LANE_DRAINING || (mode == LANE_OPEN && due) ||
                  (mode == LANE_SHUT && probe && lane_queued(lane) == 0);
    if (!wanted || lane->in_ram >= LIMIT_LANE_CALLBACKS_IN_RAM) {
        lane_note_waiting(lane, c->place.due_ms);
        return false;
    }
    lane_remember(lane, c, INFLIGHT_QUEUED);
    callback_queue_push(&lane->due, c);
    lane->probe.is_ready = mode == LANE_SHUT;
    return true;
}

struct scan_cursor lane_page_from(const struct lane *lane, enum lane_page_kind kind)
{
    return scans_from(&lane->scans, kind, lane->downtime.reopened_ms);
}

void lane_sweep_take(struct lane *lane, uint64_t event_no)
{
    struct inflight_entry *e = inflight_add(&lane->inflight, event_no);
    e->place = INFLIGHT_GONE;
    e->recording = 1;
}

void lane_redate(struct lane *lane, uint64_t event_no, const struct schedule_place *place)
{
    struct inflight_entry *e = inflight_find(&lane->inflight, event_no);
    if (!e) {
        lane_sweep_take(lane, event_no);
        return;
    }
    ASSERT(e->place == INFLIGHT_QUEUED);
    e->callback->place = *place;
    e->recording++;
}

/* The page under way has arrived: removes the entries that only waited for it. */
static void release_lingering(struct lane *lane)
{
    struct inflight_entry *e = inflight_after(&lane->inflight, NULL), *next;
    for (; e && lane->lingering > 0; e = next) {
        next = inflight_after(&lane->inflight, e);
        if (e->place == INFLIGHT_GONE && e->recording == 0) {
            inflight_remove(&lane->inflight, e);
            lane->lingering--;
        }
    }
    ASSERT(lane->lingering == 0);
}

void lane_page_ended(struct lane *lane, const struct due_page *page, size_t taken,
                     const struct lane_now *now)
{
    release_lingering(lane);
    if (scans_page_ended(&lane->scans, page, taken, lane->shared->give_up_ms, now->wall_ms,
                         now->mono_ms))
        lane->watermark.covers = true;
}

void lane_page_failed(struct lane *lane, const struct lane_now *now)
{
    release_lingering(lane);
    scans_page_failed(&lane->scans, now->mono_ms);
}
