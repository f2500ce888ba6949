/* Where a lane's scans of the store stand, page by page. */
#include "delivery/lane_scans.h"

#include "base/check.h"

#include "check.h"

#define WALL 1763726400000
#define MONO 1000000
#define GIVE_UP_MS (80 * 1000)

static struct lane_scans scans_new(void)
{
    struct lane_scans s;
    scans_init(&s);
    return s;
}

/* The page just come: one that has seen all, or one that ended at (due_ms, event_no). */
static const struct due_page all = {.next_due_ms = INT64_MAX};

static struct due_page up_to(int64_t due_ms, uint64_t event_no)
{
    return (struct due_page){
        .more = true, .last = {due_ms, event_no}, .due_until_ms = WALL, .next_due_ms = INT64_MAX};
}

static bool page(struct lane_scans *s, enum lane_page_kind kind, const struct due_page *came,
                 size_t taken)
{
    scans_ask(s, kind);
    return scans_page_ended(s, came, taken, GIVE_UP_MS, WALL, MONO);
}

static void check_from(const struct lane_scans *s, enum lane_page_kind kind, int64_t due_ms,
                       uint64_t event_no)
{
    struct scan_cursor from = scans_from(s, kind, 0);
    CHECK_EQ_INT(from.due_ms, due_ms);
    CHECK_EQ_UINT(from.event_no, event_no);
}

static void a_scan_goes_on_where_its_page_ended(void)
{
    struct lane_scans s = scans_new();
    struct due_page first = up_to(500, 7);
    CHECK(!page(&s, PAGE_FILL, &first, 3));
    check_from(&s, PAGE_FILL, 500, 7);
    check_from(&s, PAGE_SWEEP, 0, 0); /* each has a place of its own */
    check_from(&s, PAGE_LATE, 0, 0);
    CHECK(!page(&s, PAGE_FILL, &all, 3)); /* the last one, of a scan that began before it */
    check_from(&s, PAGE_FILL, 0, 0);
    CHECK(page(&s, PAGE_FILL, &all, 3)); /* one page from the start */
    CHECK_EQ_INT(s.next_due_ms, INT64_MAX);
}

static void what_leaves_memory_during_a_scan_is_due_after_it(void)
{
    struct lane_scans s = scans_new();
    struct due_page first = up_to(500, 7);
    page(&s, PAGE_FILL, &first, 3);
    scans_note_waiting(&s, 400); /* behind the cursor */
    scans_ask(&s, PAGE_FILL);
    scans_page_ended(&s, &all, 3, GIVE_UP_MS, WALL, MONO);
    CHECK_EQ_INT(s.next_due_ms, 400);
    page(&s, PAGE_FILL, &all, 1); /* a scan from the start has met it */
    CHECK_EQ_INT(s.next_due_ms, INT64_MAX);
}

static void a_resend_meanwhile_is_not_said_to_be_seen(void)
{
    struct lane_scans s = scans_new();
    scans_ask(&s, PAGE_FILL);
    s.is_behind = true;
    CHECK(!scans_page_ended(&s, &all, 1, GIVE_UP_MS, WALL, MONO));
    CHECK(page(&s, PAGE_FILL, &all, 1)); /* asking again clears that */
}

static void a_probe_that_was_found_starts_the_scan_over(void)
{
    struct lane_scans s = scans_new();
    struct due_page found = up_to(500, 7);
    page(&s, PAGE_PROBE, &found, 1);
    check_from(&s, PAGE_PROBE, 0, 0);
    CHECK_EQ_INT(s.next_due_ms, WALL); /* the rest of the page */
}

static void pages_that_bring_nothing_wait_longer_and_longer(void)
{
    struct lane_scans s = scans_new();
    const struct due_page nothing = {.next_due_ms = WALL};
    int64_t waited_ms = 0;
    for (int i = 0; i < 40; i++) {
        page(&s, PAGE_FILL, &nothing, 0);
        CHECK(s.not_before_mono_ms - MONO >= waited_ms);
        waited_ms = s.not_before_mono_ms - MONO;
    }
    CHECK_EQ_INT(waited_ms, 10 << 9);
    page(&s, PAGE_FILL, &nothing, 1);
    page(&s, PAGE_FILL, &nothing, 0);
    CHECK_EQ_INT(s.not_before_mono_ms, MONO + 10);
}

static void a_sweep_goes_on_behind_the_oldest(void)
{
    struct lane_scans s = scans_new();
    struct due_page some = up_to(100, 1), none = up_to(200, 2), other = up_to(300, 3);
    page(&s, PAGE_SWEEP, &some, 1);
    check_from(&s, PAGE_SWEEP, 100, 1);
    page(&s, PAGE_SWEEP, &none, 0); /* nothing dead there: from where the last search ended */
    check_from(&s, PAGE_SWEEP, 200, 2);
    page(&s, PAGE_SWEEP, &other, 0);
    CHECK_EQ_INT(s.sweep.not_before_mono_ms, MONO + GIVE_UP_MS / 8);
    check_from(&s, PAGE_SWEEP, 0, 0);
    page(&s, PAGE_SWEEP, &some, 0);
    check_from(&s, PAGE_SWEEP, 300, 3); /* its own place is kept */
    check_from(&s, PAGE_FILL, 0, 0);
}

static void a_sweep_leaves_out_what_has_a_try_of_its_own(void)
{
    struct lane_scans s = scans_new();
    CHECK_EQ_INT(scans_from(&s, PAGE_SWEEP, 0).due_ms, 0);
    CHECK_EQ_INT(scans_from(&s, PAGE_SWEEP, 900).due_ms, 901);
    struct due_page some = up_to(1000, 4);
    page(&s, PAGE_SWEEP, &some, 1);
    CHECK_EQ_INT(scans_from(&s, PAGE_SWEEP, 900).due_ms, 1000);
    CHECK_EQ_UINT(scans_from(&s, PAGE_SWEEP, 900).event_no, 4);
}

static void dating_ends_with_a_page_that_stands_still(void)
{
    struct lane_scans s = scans_new();
    struct due_page some = up_to(700, 4);
    scans_note_late(&s, 60, 600);
    scans_note_late(&s, 50, 600); /* by as much as the latest */
    CHECK_EQ_INT(s.dating.late_ms, 60);
    check_from(&s, PAGE_LATE, 600, 0);
    page(&s, PAGE_LATE, &some, 1);
    check_from(&s, PAGE_LATE, 700, 4);
    CHECK_EQ_INT(s.dating.late_ms, 60);
    page(&s, PAGE_LATE, &some, 0);
    CHECK_EQ_INT(s.dating.late_ms, 0);
}

static void what_is_noted_late_spoils_only_the_page_that_dates(void)
{
    struct lane_scans s = scans_new();
    scans_spoil_page(&s);
    CHECK(!s.is_stale); /* none is under way */
    scans_ask(&s, PAGE_FILL);
    scans_note_late(&s, 60, 600);
    CHECK(!s.is_stale);
    scans_spoil_page(&s);
    CHECK(s.is_stale);
    scans_page_failed(&s, MONO);
    CHECK_EQ_INT(s.not_before_mono_ms, MONO + 1000);
    scans_ask(&s, PAGE_LATE);
    CHECK(!s.is_stale);
    scans_note_late(&s, 60, 600);
    CHECK(s.is_stale);
}

static void a_restart_keeps_the_dating(void)
{
    struct lane_scans s = scans_new();
    struct due_page some = up_to(500, 7);
    page(&s, PAGE_FILL, &some, 1);
    page(&s, PAGE_SWEEP, &some, 1);
    scans_note_late(&s, 60, 600);
    scans_restart(&s);
    check_from(&s, PAGE_FILL, 0, 0);
    check_from(&s, PAGE_SWEEP, 0, 0);
    check_from(&s, PAGE_LATE, 600, 0);
}

static void one_page_at_a_time(void)
{
    struct lane_scans s = scans_new();
    CHECK_ABORTS(scans_page_failed(&s, MONO));
    scans_ask(&s, PAGE_FILL);
    CHECK_ABORTS(scans_ask(&s, PAGE_FILL));
}

int main(void)
{
    RUN(a_scan_goes_on_where_its_page_ended);
    RUN(what_leaves_memory_during_a_scan_is_due_after_it);
    RUN(a_resend_meanwhile_is_not_said_to_be_seen);
    RUN(a_probe_that_was_found_starts_the_scan_over);
    RUN(pages_that_bring_nothing_wait_longer_and_longer);
    RUN(a_sweep_goes_on_behind_the_oldest);
    RUN(a_sweep_leaves_out_what_has_a_try_of_its_own);
    RUN(dating_ends_with_a_page_that_stands_still);
    RUN(what_is_noted_late_spoils_only_the_page_that_dates);
    RUN(a_restart_keeps_the_dating);
    RUN(one_page_at_a_time);
    return check_done("lane_scans");
}
