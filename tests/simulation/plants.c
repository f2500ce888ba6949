/* Bugs to be caught. The linker puts each __wrap_ function here between two files of delivery
 * (--wrap, see meson.build): without a plant it only passes on, so one build of the code under
 * test serves both. */
#include "sim.h"

#include "store/journal/frame.h"
#include "store/statement.h"

int plant_now = -1;

const struct plant plants[] = {
    {"due_time_forgotten", CHECK_LOST},
    {"schedule_starts_over", CHECK_TRIES},
    {"gives_up_early", CHECK_DEAD},
    {"skips_what_failed", CHECK_SKIPPED},
    {"window_too_wide", CHECK_WINDOW},
    {"probes_without_spacing", CHECK_SUSPENDED},
    {"dead_host_tried_by_all", CHECK_DEAD_HOST},
    {"sick_ones_block_healthy_ones", CHECK_WAIT},
    {"stale_page_believed", CHECK_FINAL},
    {"lane_of_two_loops", CHECK_AT_ONCE},
    {"reversal_not_held_back", CHECK_REVERSAL},
    {"retry_after_ignored", CHECK_RETRY_AFTER},
    {"retry_after_cut_short", CHECK_RETRY_AFTER},
    {"retries_too_early", CHECK_EARLY},
    {"attempt_not_counted", CHECK_COUNTERS},
    {"wakes_for_nothing", CHECK_HOT},
    {"ledger_forgets_the_dead", CHECK_BOOKS},
    {"resend_overwritten", CHECK_RESEND},
    {"suspended_lane_keeps_all", CHECK_MEMORY},
    {"erased_stays_in_memory", CHECK_ERASED},
    {"statement_of_yesterday", CHECK_STATEMENT},
    {"torn_group_believed", CHECK_TORN},
    {"page_outlives_erasure", CHECK_ERASED},
    {"drains_newest_first", CHECK_ORDER},
    {"lane_without_bound", CHECK_MEMORY},
    {"sick_ones_slow_healthy_ones", CHECK_SLOWED},
    {"clock_put_back_unnoticed", CHECK_CLOCK},
    {"gives_up_with_the_last_slot", CHECK_GIVEN_UP},
    {"gives_up_what_it_has_not_tried", CHECK_GIVEN_UP},
    {"gives_up_by_a_clock_jump", CHECK_GIVEN_UP},
    {"one_410_disables", CHECK_GONE},
    {"disabled_lane_tries", CHECK_GONE},
    {"skips_what_waits_for_enabling", CHECK_SKIPPED},
    {"resend_adds_an_attempt", CHECK_TRIES},
    {"local_fault_judges_the_lane", CHECK_LOCAL_FAULT},
    {"local_fault_tried_again_at_once", CHECK_LOCAL_FAULT},
};
const size_t plant_count = ARRAY_LEN(plants);

static bool is(const char *name)
{
    return plant_now >= 0 && !sim_now->dropping && strcmp(plants[plant_now].name, name) == 0;
}

#define WRAP(type, name, ...)                                                                      \
    type __real_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__)

WRAP(void, lane_recorded, struct lane *lane, uint64_t event_no, enum callback_state state,
     int64_t due_ms, const struct lane_now *now)
{
    if (is("due_time_forgotten"))
        state = CALLBACK_DEAD;
    bool page_asked = lane->scans.is_asked;
    if (is("stale_page_believed")) /* forgets what is in hand though a page is under way */
        lane->scans.is_asked = false;
    __real_lane_recorded(lane, event_no, state, due_ms, now);
    lane->scans.is_asked = page_asked;
}

WRAP(enum schedule_next, schedule_fail, const struct schedule *s, struct schedule_place *place,
     int64_t now_ms, int64_t not_before_ms, struct rng *rng)
{
    enum schedule_next next = __real_schedule_fail(s, place, now_ms, not_before_ms, rng);
    if (is("schedule_starts_over") && next == SCHEDULE_DEAD) {
        *place = (struct schedule_place){.due_ms = now_ms + s->step_ms[0]};
        return SCHEDULE_RETRY;
    }
    if (is("gives_up_early") && place->failed_attempts == 2)
        return SCHEDULE_DEAD;
    return next;
}

WRAP(bool, callback_is_given_up, const struct schedule *s, const struct schedule_place *stored,
     const struct lane_downtime *d, int64_t now_ms, int64_t now_mono_ms)
{
    struct lane_downtime down = *d;
    if (is("gives_up_with_the_last_slot"))
        return schedule_ended_ms(s, stored, now_ms) != INT64_MAX;
    if (is("gives_up_what_it_has_not_tried"))
        down.reopened_ms = 0;
    return __real_callback_is_given_up(s, stored, &down, now_ms, now_mono_ms);
}

WRAP(bool, gone_run_add, struct gone_run *run, uint64_t event_no)
{
    return __real_gone_run_add(run, event_no) || is("one_410_disables");
}

WRAP(bool, callback_is_missed, const struct schedule *s, const struct schedule_place *stored,
     int64_t enabled_ms)
{
    if (is("skips_what_waits_for_enabling"))
        return stored->due_ms <= enabled_ms;
    return __real_callback_is_missed(s, stored, enabled_ms);
}

WRAP(void, lane_set, struct lane *lane, const struct lane_settings *settings,
     const struct lane_now *now)
{
    struct lane_settings s = *settings;
    s.disabled &= !is("disabled_lane_tries");
    __real_lane_set(lane, &s, now);
}

WRAP(int64_t, callback_give_up_ms, const struct schedule *s)
{
    return is("gives_up_with_the_last_slot") ? 1 : __real_callback_give_up_ms(s);
}

WRAP(int64_t, clock_lead_ms, const struct clock_lead *l, int64_t now_mono_ms)
{
    return is("gives_up_by_a_clock_jump") ? 0 : __real_clock_lead_ms(l, now_mono_ms);
}

WRAP(void, lane_downtime_end, struct lane_downtime *d, int64_t now_ms)
{
    __real_lane_downtime_end(d, now_ms);
    if (is("gives_up_what_it_has_not_tried"))
        d->reopened_ms = 0;
}

WRAP(void, dispatcher_record, struct dispatcher *d, const struct outcome *outcome)
{
    struct outcome o = *outcome;
    if (is("skips_what_failed") && o.state == CALLBACK_DEAD) {
        o.state = CALLBACK_SKIPPED;
        o.reason = REASON_DISABLED;
    }
    if (is("resend_overwritten"))
        o.resend_no = UINT64_MAX;
    __real_dispatcher_record(d, &o);
}

WRAP(int32_t, window_allowance, const struct window *w, int32_t limit, int64_t now_mono_ms)
{
    return __real_window_allowance(w, limit, now_mono_ms) + is("window_too_wide");
}

WRAP(bool, window_failed, struct window *w, int64_t now_mono_ms, struct rng *rng)
{
    bool suspended = __real_window_failed(w, now_mono_ms, rng);
    if (is("probes_without_spacing"))
        w->probe_mono_ms = now_mono_ms + 1000;
    return suspended;
}

WRAP(void, backoff_begin, struct lane_backoff *h, int32_t in_flight, int64_t until_mono_ms,
     int64_t now_mono_ms)
{
    struct lane *lane = CONTAINER_OF(h, struct lane, backoff);
    if (is("local_fault_judges_the_lane"))
        (void)window_failed(&lane->window, now_mono_ms, &sim_now->loops[0].rng);
    if (is("local_fault_tried_again_at_once"))
        until_mono_ms = now_mono_ms + 100;
    __real_backoff_begin(h, in_flight, until_mono_ms, now_mono_ms);
}

WRAP(bool, destination_grants_probe, const struct destination *d, const struct lane *lane,
     int64_t now_mono_ms)
{
    return __real_destination_grants_probe(d, lane, now_mono_ms) || is("dead_host_tried_by_all");
}

WRAP(bool, dispatcher_has_seat, const struct dispatcher *d, bool sick)
{
    if (is("sick_ones_block_healthy_ones") && !sick && d->suspended > 0)
        return false;
    return __real_dispatcher_has_seat(d, sick);
}

/* A lane goes to the loop of its new URL at once, though the old one has not ended its tries. */
WRAP(int, lane_affinity_get, struct lane_affinity *affinity, lane_no lane)
{
    return is("lane_of_two_loops") ? LOOP_NONE : __real_lane_affinity_get(affinity, lane);
}

WRAP(int, lane_affinity_claim, struct lane_affinity *affinity, lane_no lane, int loop)
{
    int owner = __real_lane_affinity_claim(affinity, lane, loop);
    return is("lane_of_two_loops") ? loop : owner;
}

WRAP(struct lane *, lane_new, lane_no no, struct lane_shared *shared, const struct lane_now *now)
{
    struct lane *lane = __real_lane_new(no, shared, now);
    if (is("lane_of_two_loops"))
        lane->scans.next_due_ms = 0;
    return lane;
}

WRAP(int64_t, schedule_retry_after_ms, int64_t asked_ms)
{
    int64_t ms = __real_schedule_retry_after_ms(asked_ms);
    if (is("retry_after_cut_short") && ms > 65 * SECOND)
        return 65 * SECOND;
    return is("retry_after_ignored") ? 0 : ms;
}

WRAP(void, retries_add, struct retries *r, struct callback *c, int64_t due_mono_ms)
{
    __real_retries_add(r, c, due_mono_ms - (is("retries_too_early") ? 2000 : 0));
}

WRAP(void, dispatcher_count, struct dispatcher *d, const struct delivery_attempt *t,
     const struct lane_now *now)
{
    if (!is("attempt_not_counted") || t->x.class != ATTEMPT_RESET)
        __real_dispatcher_count(d, t, now);
}

WRAP(struct lane_decision, lane_decide, const struct lane *lane, const struct lane_now *now,
     const struct lane_means *means)
{
    struct lane_decision what = __real_lane_decide(lane, now, means);
    if (is("wakes_for_nothing") && lane->pace.paused_until_mono_ms > now->mono_ms &&
        what.wake_mono_ms > now->mono_ms)
        what.wake_mono_ms = now->mono_ms;
    if (is("sick_ones_slow_healthy_ones") && what.action == LANE_START && sim_now->part &&
        lane->contact.is_proven && now->mono_ms % 50 < 30)
        what = (struct lane_decision){.action = LANE_WAIT,
                                      .wake_mono_ms = now->mono_ms + 30 - now->mono_ms % 50};
    if (is("suspended_lane_keeps_all") && lane->window.suspended && what.action == LANE_DROP)
        what = (struct lane_decision){.action = LANE_WAIT, .wake_mono_ms = now->mono_ms + 1000};
    return what;
}

/* The place in the schedule of a callback that waits should stay. */
WRAP(void, life_resend, struct callback_life *s, int64_t due_ms,
     const struct callback_life *original)
{
    __real_life_resend(s, due_ms, original);
    if (is("resend_adds_an_attempt") && s->place.failed_attempts > 0)
        s->place.failed_attempts--;
}

WRAP(void, memory_moved, struct memory_store *m, const struct entry *e, enum callback_state from)
{
    if (!is("ledger_forgets_the_dead") || e->life.state != CALLBACK_DEAD)
        __real_memory_moved(m, e, from);
}

WRAP(void, dispatcher_erase, struct dispatcher *d, uint32_t account_no, struct str panelist_id)
{
    if (!is("erased_stays_in_memory"))
        __real_dispatcher_erase(d, account_no, panelist_id);
}

/* What was resent is still stated as it was before. */
WRAP(void, statement_add, struct statement_maker *m, const struct event *e,
     enum callback_state state)
{
    bool stale = is("statement_of_yesterday") && state == CALLBACK_DEAD;
    __real_statement_add(m, e, stale ? CALLBACK_PENDING : state);
}

WRAP(bool, frame_is_whole, const char *frame, const struct frame_head *head)
{
    return __real_frame_is_whole(frame, head) || is("torn_group_believed");
}

WRAP(void, lane_spoil_page, struct lane *lane)
{
    if (!is("page_outlives_erasure"))
        __real_lane_spoil_page(lane);
}

WRAP(void, lane_offer, struct lane *lane, struct callback *c, int32_t room,
     const struct lane_now *now)
{
    int32_t in_ram = is("lane_without_bound") ? lane->in_ram : 0;
    lane->in_ram -= in_ram;
    __real_lane_offer(lane, c, room, now);
    lane->in_ram += in_ram;
}

WRAP(void, lane_clock_back, struct lane *lane, int64_t by_ms, const struct lane_now *now)
{
    if (!is("clock_put_back_unnoticed"))
        __real_lane_clock_back(lane, by_ms, now);
}

void plant_paged(struct due_page *page)
{
    if (!is("drains_newest_first") || page->status != STORE_OK)
        return;
    for (size_t i = 0; i < page->count / 2; i++) {
        struct callback *c = page->items[i];
        page->items[i] = page->items[page->count - 1 - i];
        page->items[page->count - 1 - i] = c;
    }
}

/* The store's duty: a reversal waits for its original. */
void plant_accepted(struct sim *sim, const struct entry *e)
{
    if (!is("reversal_not_held_back") || e->life.wait != WAIT_HELD)
        return;
    struct callback *c = memory_callback(e);
    struct owed_sink *sink = delivery_sink(sim->delivery);
    sink->owed(sink, &c, 1);
}
