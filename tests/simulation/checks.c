/* What must hold, seen from outside of delivery: by what receivers see, what the store is told, and
 * own models of suspension and of dead hosts. Delivery's memory is only looked into for what no
 * outsider can know: that a lane was forgotten, or is suspended at this moment.
 *
 * A model errs on the side of allowing; docs/simulation.md says where. */
#include "sim.h"

#include "base/alloc.h"
#include "domain/acceptance_times.h"

#include <stdlib.h>

const char *checker_name(enum checker c)
{
    static const char *const names[CHECKERS] = {
        "lost",  "tries",  "dead",    "skipped",  "window",      "suspended",  "dead_host",
        "wait",  "final",  "at_once", "reversal", "retry_after", "early",      "counters",
        "hot",   "books",  "resend",  "memory",   "erased",      "statement",  "torn",
        "order", "slowed", "clock",   "given_up", "gone",        "local_fault"};
    return names[c];
}

static unsigned long long number(uint64_t n)
{
    return n;
}

static int64_t at_least(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* --- accepted --------------------------------------------------------------------------------- */

void checks_accepted(struct sim *sim, const struct entry *e)
{
    const struct event *event = &e->event;
    struct shard *shard = &sim->shards[event->account_no - 1];
    ASSERT(event->event_no == shard->count + 1);
    shard->witnesses =
        xgrow(shard->witnesses, &shard->capacity, shard->count + 1, sizeof(struct witness));
    shard->witnesses[shard->count++] = (struct witness){
        .lane = lane_of(event->app_no, event->lane),
        .original_no = event->original_no,
        .accepted_ms = event->accepted_ms,
        .accepted_mono_ms = sim->mono_ms,
        .due_ms = e->life.place.due_ms,
        .run_began_mono_ms = sim->mono_ms,
        .run_forward_ms = sim->clock.forward_ms,
        .steady = sim->choices[event->app_no - 1].steady && !event->original_no,
        .final = e->life.state != CALLBACK_PENDING,
        .was_final = e->life.state != CALLBACK_PENDING,
        .state = e->life.state,
        .panelist = event->panelist_id.n == 2 ? (uint8_t)(event->panelist_id.p[1] - '0') : 0,
    };
    if (event->original_no)
        sim_witness(sim, event->account_no, event->original_no)->reversal_no = event->event_no;
}

/* Its schedule begins again, by a resend. */
static void begin_run(const struct sim *sim, struct witness *w)
{
    w->run_starts = w->run_allows = 0;
    w->run_began_mono_ms = sim->mono_ms;
    w->run_forward_ms = sim->clock.forward_ms;
}

void checks_resent(struct sim *sim, uint32_t account_no, uint64_t event_no, bool was_final,
                   bool was_delivered)
{
    struct witness *w = sim_witness(sim, account_no, event_no);
    sim_watch(sim, account_no, event_no, "it is resent");
    w->asked = true;
    w->owed = true;
    w->asked_meanwhile = true;
    if (was_final && !was_delivered) {
        begin_run(sim, w);
        w->final = false;
        w->state = CALLBACK_PENDING;
    }
    w->run_allows += was_delivered; /* if it waits, its place in the schedule stays */
    w->run_resent = true;
}

/* --- a try starts ----------------------------------------------------------------------------- */

static void check_callback(struct sim *sim, const struct callback *c, const struct witness *w)
{
    unsigned long long no = number(c->event_no);
    if (w->under_way)
        sim_found(sim, CHECK_AT_ONCE, "account %u event %llu is tried while it is being tried",
                  c->account_no, no);
    if (w->final && !w->asked)
        sim_found(sim, CHECK_FINAL, "account %u event %llu is tried though it is final",
                  c->account_no, no);
    if (w->erased)
        sim_found(sim, CHECK_ERASED, "account %u event %llu is tried though it was erased",
                  c->account_no, no);
    if (w->run_starts >= sim->schedule.steps + 1 + w->run_allows)
        sim_found(sim, CHECK_TRIES, "account %u event %llu: try %d of a schedule of %d",
                  c->account_no, no, w->run_starts + 1, sim->schedule.steps + 1);
    /* A clock that was put back by no more than that is not followed. */
    int64_t held_ms = sim->clock.set_ms ? ACCEPTANCE_HELD_MS : 0;
    if (w->run_starts > 0 && sim_wall(sim) + held_ms < w->due_ms && !w->asked)
        sim_found(sim, CHECK_EARLY, "account %u event %llu is tried %lld ms before it is due",
                  c->account_no, no, (long long)(w->due_ms - sim_wall(sim)));
    if (w->original_no && !sim_witness(sim, c->account_no, w->original_no)->was_final)
        sim_found(sim, CHECK_REVERSAL, "account %u event %llu reverses one that is not final",
                  c->account_no, no);
    /* after a fault of this machine the lanes are tried in turn */
    int64_t began_ms = at_least(sim->fault_until_ms + FAULT_GRACE_MS, sim->life_began_ms);
    int64_t waited_ms = sim->mono_ms - at_least(w->accepted_mono_ms, began_ms);
    if (w->steady && !w->seen && waited_ms > sim->wait_bound_ms)
        sim_found(sim, CHECK_WAIT, "account %u event %llu to a healthy receiver waited %lld ms",
                  c->account_no, no, (long long)waited_ms);
}

/* A lane leaves its pause behind with its loop and with its URL, even if it is back by now. */
static bool is_paused_on(const struct lane_witness *l, int loop)
{
    return l->paused_loop == loop && l->moved_ms < l->pause_asked_ms;
}

static void check_lane(struct sim *sim, const struct delivery_attempt *t,
                       const struct lane_witness *l, int loop)
{
    const struct lane *lane = t->lane;
    unsigned long long no = number(lane->no);
    const struct host *host = &sim->hosts[url_host(t->x.url)];
    int32_t most = t->app->max_concurrency;
    if (!lane->window.suspended && (int32_t)lane->window.size < most)
        most = (int32_t)lane->window.size;
    if (l->under_way + 1 > most || l->under_way + 1 > (int32_t)(l->size_most + 1e-6))
        sim_found(sim, CHECK_WINDOW,
                  "lane %llu has %d under way, its window is %.2f (at most %.2f)", no,
                  l->under_way + 1, lane->window.size, l->size_most);
    if (lane->window.suspended && l->under_way > 0)
        sim_found(sim, CHECK_SUSPENDED, "lane %llu is suspended and tries %d at once", no,
                  l->under_way + 1);
    bool resent = t->callback->manual; /* at once, whatever the spacing */
    bool hurried = l->moved_ms >= l->judged_ms || host->reached_ms >= l->judged_ms;
    if (lane->window.suspended && !resent && !hurried && sim->mono_ms < l->next_ms)
        sim_found(sim, CHECK_SUSPENDED, "lane %llu is suspended and tries %lld ms too soon", no,
                  (long long)(l->next_ms - sim->mono_ms));
    bool early = sim->mono_ms < l->next_ms || sim->mono_ms < host->dead_next_ms;
    bool known = l->resent_ms > sim->life_began_ms && l->resent_ms > l->moved_ms;
    if (t->is_shut && resent && early && known && !hurried &&
        sim->mono_ms < l->resent_ms + LANE_RESENDS_APART_MS)
        sim_found(sim, CHECK_SUSPENDED, "lane %llu is shut and tries a resend %lld ms too soon", no,
                  (long long)(l->resent_ms + LANE_RESENDS_APART_MS - sim->mono_ms));
    const struct app_choice *choice = &sim->choices[lane_app_no(lane->no) - 1];
    if (choice->disabled[lane_kind_of(lane->no)] && choice->changed_ms < sim->mono_ms)
        sim_found(sim, CHECK_GONE, "lane %llu is tried though it is disabled", no);
    if (sim->mono_ms < l->paused_ms && is_paused_on(l, loop))
        sim_found(sim, CHECK_RETRY_AFTER, "lane %llu was asked to wait %lld ms longer", no,
                  (long long)(l->paused_ms - sim->mono_ms));
    if (t->destination->dead &&
        (host->probes > 0 || (!resent && sim->mono_ms < host->dead_next_ms)))
        sim_found(sim, CHECK_DEAD_HOST, "host %d is dead: %d tries under way, the next in %lld ms",
                  url_host(t->x.url), host->probes, (long long)(host->dead_next_ms - sim->mono_ms));
}

/* After an outage: what had waited is tried oldest due first, whatever comes in meanwhile. */
static void check_order(struct sim *sim, const struct callback *c, const struct witness *w,
                        struct lane_witness *l)
{
    if (sim->returned_ms == 0 || w->accepted_ms >= sim->returned_ms)
        return;
    if (w->due_ms < l->drained_due_ms)
        sim_found(sim, CHECK_ORDER, "account %u event %llu is tried after one due %lld ms later",
                  c->account_no, number(c->event_no), (long long)(l->drained_due_ms - w->due_ms));
    l->drained_due_ms = w->due_ms;
}

void checks_starting(struct sim *sim, const struct delivery_attempt *t, int loop)
{
    struct witness *w = sim_witness(sim, t->callback->account_no, t->callback->event_no);
    struct lane_witness *l = &sim->lanes[t->lane->no];
    sim_watch(sim, t->callback->account_no, t->callback->event_no,
              "it is tried on loop %d, lane %llu, host %d", loop, number(t->lane->no),
              url_host(t->x.url));
    check_callback(sim, t->callback, w);
    check_lane(sim, t, l, loop);
    check_order(sim, t->callback, w, l);
    checks_held(sim, t, loop);
    w->under_way = true;
    w->starts++;
    l->under_way++;
    sim->hosts[url_host(t->x.url)].probes += t->is_probe;
    if (t->x.local_fault)
        return;
    w->seen = true;
    w->asked_meanwhile = w->owed = false;
    w->run_starts++;
    w->last_start_ms = sim->mono_ms;
    if (l->under_way > sim->most_at_once)
        sim->most_at_once = l->under_way;
    l->try_is_probe = t->lane->window.suspended;
    l->probe_ms = t->lane->window.probe_mono_ms;
    if (t->is_shut && t->callback->manual)
        l->resent_ms = sim->mono_ms;
}

/* --- a try ends ------------------------------------------------------------------------------- */

/* Contract: more than a day ahead counts as a day. */
static int64_t asked_pause(const struct delivery_attempt *t)
{
    if (t->x.class == ATTEMPT_OK || t->x.retry_after_ms < 0)
        return -1;
    return t->x.retry_after_ms < DAY ? t->x.retry_after_ms : DAY;
}

struct ending checks_ending(struct sim *sim, const struct delivery_attempt *t, int loop)
{
    enum attempt_class class = t->x.class;
    struct lane_witness *l = &sim->lanes[t->lane->no];
    struct ending e = {
        .account_no = t->callback->account_no,
        .event_no = t->callback->event_no,
        .lane = t->lane->no,
        .at = t->lane,
        .host = url_host(t->x.url),
        .loop = loop,
        .was_suspended = t->lane->window.suspended,
        .was_dead = t->destination->dead,
        .is_probe = t->is_probe,
        .is_good = class == ATTEMPT_OK,
        .counts = class != ATTEMPT_OK && attempt_counts_against_lane(class, t->x.status),
        .speaks_of_host = destination_is_judged_by(class),
        .pause_ms = asked_pause(t),
        .destination = t->destination,
        .is_local = t->x.local_fault != LOCAL_FAULT_NONE,
        .window = t->lane->window,
        .failed_run = t->destination->failed_run,
    };
    e.answered = !e.speaks_of_host && class != ATTEMPT_TIMEOUT && class != ATTEMPT_RESET;
    l->under_way--;
    if (!e.is_local) {
        checks_follow_gone(sim, t, l);
        sim->ends[class]++;
    }
    sim->hosts[e.host].probes -= e.is_probe;
    struct witness *w = sim_witness(sim, e.account_no, e.event_no);
    w->under_way = false;
    w->starts -= e.is_local;
    return e;
}

/* 5 s, then doubling to 60 s. */
static int64_t next_wait(int64_t wait_ms)
{
    return wait_ms * 2 < WINDOW_SUSPEND_LAST_MS ? wait_ms * 2 : WINDOW_SUSPEND_LAST_MS;
}

static void follow_lane(struct sim *sim, const struct ending *e)
{
    struct lane_witness *l = &sim->lanes[e->lane];
    bool suspended = e->at->window.suspended;
    if (!e->counts) {
        l->answered_ms = sim->mono_ms;
        if (e->was_suspended) {
            l->reopened_ms = sim_wall(sim);
            l->reopened_at_ms = sim->mono_ms;
            l->reopened_by_ms = sim_witness(sim, e->account_no, e->event_no)->last_start_ms;
        }
    }
    if (e->is_good)
        l->size_most += 1 / l->size_most;
    if (suspended && !e->was_suspended)
        l->wait_ms = WINDOW_SUSPEND_FIRST_MS;
    else if (suspended && l->try_is_probe && e->counts && sim->mono_ms >= l->probe_ms)
        l->wait_ms = next_wait(l->wait_ms);
    else
        return;
    l->next_ms = sim->mono_ms + l->wait_ms;
    l->judged_ms = sim->mono_ms;
}

/* Or a resend's, before the time of the next try, which stays: by up to a twentieth of the wait
 * only the destination itself tells. */
static bool was_next_try(const struct sim *sim, const struct host *host, const struct ending *e)
{
    return sim->mono_ms >= host->dead_next_ms &&
           e->destination->probe_mono_ms - sim->mono_ms >= host->dead_wait_ms;
}

static void follow_host(struct sim *sim, const struct ending *e)
{
    struct host *host = &sim->hosts[e->host];
    if (e->at->destination != e->destination) { /* the lane has moved: no telling */
        host->dead_next_ms = host->dead_wait_ms = 0;
        return;
    }
    if (e->destination->dead && !e->was_dead)
        host->dead_wait_ms = DESTINATION_PROBE_FIRST_MS;
    else if (e->was_dead && e->is_probe && !e->answered && was_next_try(sim, host, e))
        host->dead_wait_ms = next_wait(host->dead_wait_ms);
    else if (e->was_dead && e->answered)
        host->reached_ms = sim->mono_ms;
    else
        return;
    host->dead_next_ms = e->answered ? 0 : sim->mono_ms + host->dead_wait_ms;
    sim_trace(sim, "host %d is %s by lane %llu on loop %d, next try in %lld ms", e->host,
              e->answered ? "reached" : "dead", number(e->lane), e->loop,
              (long long)(host->dead_next_ms - sim->mono_ms));
}

void checks_ended(struct sim *sim, const struct ending *e)
{
    if (e->is_local) {
        checks_fault_ended(sim, e);
        return;
    }
    outage_measure(sim, e);
    follow_lane(sim, e);
    follow_host(sim, e);
    if (e->pause_ms < 0)
        return;
    struct witness *w = sim_witness(sim, e->account_no, e->event_no);
    w->not_before_ms = sim_wall(sim) + e->pause_ms;
    w->asked_until_ms = sim->mono_ms + e->pause_ms;
    const struct app_choice *c = &sim->choices[lane_app_no(e->lane) - 1];
    if (c->host[lane_kind_of(e->lane)] != e->host)
        return; /* the lane has another URL */
    struct lane_witness *l = &sim->lanes[e->lane];
    l->paused_ms =
        at_least(is_paused_on(l, e->loop) ? l->paused_ms : 0, sim->mono_ms + e->pause_ms);
    l->paused_loop = e->loop;
    l->pause_asked_ms = sim->mono_ms;
    l->asked_until_ms = at_least(l->asked_until_ms, l->paused_ms);
}

/* --- what delivery records -------------------------------------------------------------------- */

static int64_t whole_schedule_ms(const struct sim *sim)
{
    int64_t whole_ms = 0;
    for (int32_t i = 0; i < sim->schedule.steps; i++)
        whole_ms += sim->schedule.step_ms[i];
    return whole_ms;
}

/* Dead without a try: its lane has been down for as long as the schedule once more, and what was
 * due when it reopened was tried since. */
static void check_given_up(struct sim *sim, const struct outcome *o, const struct witness *w)
{
    const struct lane_witness *l = &sim->lanes[o->lane];
    int64_t whole_ms = whole_schedule_ms(sim);
    int64_t most_ms = whole_ms < DAY ? whole_ms : DAY;
    int64_t since_ms =
        at_least(at_least(l->answered_ms, l->moved_ms), at_least(l->fault_ms, sim->life_began_ms));
    if (sim->mono_ms - since_ms < most_ms)
        sim_found(sim, CHECK_GIVEN_UP,
                  "account %u event %llu is given up, its lane %llu is down "
                  "for %lld ms",
                  o->account_no, number(o->event_no), number(o->lane),
                  (long long)(sim->mono_ms - since_ms));
    /* Of a jump of the clock only the process knows that has seen it. */
    int64_t jumps_ms = at_least(sim->life_forward_ms - w->run_forward_ms, 0);
    int64_t took_ms = sim->mono_ms - w->run_began_mono_ms + jumps_ms;
    /* A clock that was put back by no more than that is not followed. */
    int64_t held_ms = sim->clock.set_ms ? ACCEPTANCE_HELD_MS : 0;
    if (!w->run_resent && took_ms + held_ms < whole_ms / 10 * 9 + most_ms)
        sim_found(sim, CHECK_GIVEN_UP, "account %u event %llu is given up after %lld ms",
                  o->account_no, number(o->event_no), (long long)took_ms);
    bool tells = !w->run_resent && !sim->clock.set_ms;
    int64_t stored_ms = late_store_entry(sim, o->account_no, o->event_no)->life.place.due_ms;
    if (tells && w->due_ms != stored_ms)
        sim_found(sim, CHECK_GIVEN_UP,
                  "account %u event %llu is given up; it was due %lld ms later than the checkers "
                  "know",
                  o->account_no, number(o->event_no), (long long)(stored_ms - w->due_ms));
    /* With a new URL another loop may have the lane, which does not know that (docs/state.md); it
     * has it once the tries of the URL before have ended. */
    int64_t known_ms = sim->loop_count > 1 ? l->reopened_by_ms : l->reopened_at_ms;
    bool is_known = known_ms > l->moved_ms;
    if (tells && is_known && w->last_start_ms < l->reopened_at_ms && w->due_ms <= l->reopened_ms)
        sim_found(sim, CHECK_GIVEN_UP,
                  "account %u event %llu is given up; it was due when its lane "
                  "reopened, and not tried since",
                  o->account_no, number(o->event_no));
}

static void check_dead(struct sim *sim, const struct outcome *o, const struct witness *w)
{
    int32_t tries = sim->schedule.steps + 1;
    unsigned long long no = number(o->event_no);
    switch (o->reason) {
    case REASON_ENDPOINT_DOWN:
        if (o->has_attempt)
            sim_found(sim, CHECK_DEAD, "account %u event %llu is given up by a try", o->account_no,
                      no);
        check_given_up(sim, o, w);
        return;
    case REASON_GONE:
        if (!o->has_attempt || o->attempt.class != ATTEMPT_GONE)
            sim_found(sim, CHECK_DEAD, "account %u event %llu is dead by no 410", o->account_no,
                      no);
        return;
    default: break;
    }
    if (o->reason != REASON_ATTEMPTS || !o->has_attempt || o->place.failed_attempts != tries ||
        (w->run_starts < tries && !w->run_resent))
        sim_found(sim, CHECK_DEAD, "account %u event %llu is dead after %d tries of %d",
                  o->account_no, no, w->run_starts, tries);
}

static void check_skipped(struct sim *sim, const struct outcome *o, const struct witness *w)
{
    const struct app_choice *c = &sim->choices[lane_app_no(o->lane) - 1];
    size_t kind = lane_kind_of(o->lane);
    if (o->reason != REASON_DISABLED) {
        if (c->host[kind] >= 0 && c->changed_ms < sim->mono_ms)
            sim_found(sim, CHECK_SKIPPED,
                      "account %u event %llu is skipped, but its lane has a URL", o->account_no,
                      number(o->event_no));
        return;
    }
    int64_t waited_ms = c->lane_enabled_ms[kind] - w->due_ms;
    int64_t least_ms = w->run_starts == 0 ? whole_schedule_ms(sim) : 0;
    if (!w->run_resent && waited_ms < least_ms)
        sim_found(sim, CHECK_SKIPPED,
                  "account %u event %llu is skipped: it waited %lld ms until its lane was enabled",
                  o->account_no, number(o->event_no), (long long)waited_ms);
}

void checks_recorded(struct sim *sim, const struct outcome *o)
{
    struct witness *w = sim_witness(sim, o->account_no, o->event_no);
    sim_watch(sim, o->account_no, o->event_no, "it is recorded as %s (%s), due in %lld ms",
              callback_state_name(o->state),
              o->has_attempt ? attempt_class_name(o->attempt.class) : "not tried",
              (long long)(o->place.due_ms - sim_wall(sim)));
    if (o->state == CALLBACK_DEAD)
        check_dead(sim, o, w);
    if (o->state == CALLBACK_SKIPPED)
        check_skipped(sim, o, w);
    if (o->state == CALLBACK_DELIVERED && !w->was_final &&
        (!o->has_attempt || o->attempt.class != ATTEMPT_OK))
        sim_found(sim, CHECK_LOST, "account %u event %llu is called delivered without a 2xx",
                  o->account_no, number(o->event_no));
    if (o->state == CALLBACK_PENDING && o->place.due_ms < w->not_before_ms)
        sim_found(sim, CHECK_RETRY_AFTER, "account %u event %llu is due %lld ms before it may be",
                  o->account_no, number(o->event_no),
                  (long long)(w->not_before_ms - o->place.due_ms));
    w->final = o->state != CALLBACK_PENDING;
    w->due_ms = o->place.due_ms;
    if (o->has_attempt) {
        w->asked = w->asked_meanwhile;
        w->late_excused = false;
    }
    if (!o->has_attempt || o->attempt.class == ATTEMPT_OK)
        w->owed = false;
    w->not_before_ms = 0;
}

void checks_durable(struct sim *sim, const struct outcome *o)
{
    struct witness *w = sim_witness(sim, o->account_no, o->event_no);
    sim_watch(sim, o->account_no, o->event_no, "that is durable");
    w->was_final |= o->state != CALLBACK_PENDING;
    w->was_delivered |= o->state == CALLBACK_DELIVERED;
    w->was_dead |= o->state == CALLBACK_DEAD;
    bool anew = w->resend_no > o->resend_no; /* a resend that it does not answer */
    bool was_final = o->state == CALLBACK_DEAD || o->state == CALLBACK_SKIPPED;
    bool is_delivered = o->state == CALLBACK_DELIVERED && w->state != CALLBACK_DELIVERED;
    w->state = o->state;
    if (w->is_erased && o->state == CALLBACK_PENDING) {
        w->state = CALLBACK_SKIPPED;
        w->final = w->was_final = true;
    } else if (anew && !w->is_erased) {
        w->state = was_final ? CALLBACK_PENDING : o->state;
        w->asked = true;
        if (was_final)
            begin_run(sim, w);
        w->run_allows += is_delivered;
    }
    if (!anew)
        w->resend_no = 0;
}

void checks_released(struct sim *sim, uint32_t account_no, uint64_t event_no, int64_t due_ms)
{
    sim_watch(sim, account_no, event_no, "its original is final");
    sim_witness(sim, account_no, event_no)->due_ms = due_ms;
}

/* --- a crash --------------------------------------------------------------------------------- */

void checks_crashed(struct sim *sim)
{
    checks_clock_crashed(sim);
    for (uint32_t account = 1; account <= sim->shard_count; account++) {
        struct shard *shard = &sim->shards[account - 1];
        for (size_t i = 0; i < shard->count; i++) {
            struct witness *w = &shard->witnesses[i];
            const struct entry *e = late_store_entry(sim, account, i + 1);
            int32_t unrecorded = w->starts - (int32_t)e->log_count;
            w->starts -= unrecorded;
            w->run_allows += unrecorded;
            w->under_way = w->asked_meanwhile = false;
            w->final = e->life.state != CALLBACK_PENDING;
            w->asked = w->owed = e->life.manual && e->event.body.p;
            w->due_ms = e->life.place.due_ms;
            w->not_before_ms = 0;
        }
    }
    size_t lanes = (size_t)(sim->app_count + 1) * LANE_KINDS;
    for (size_t i = 0; i < lanes; i++)
        sim->lanes[i] = (struct lane_witness){.size_most = WINDOW_START,
                                              .asked_until_ms = sim->lanes[i].asked_until_ms};
    for (size_t i = 0; i < sim->host_count; i++) {
        struct host *host = &sim->hosts[i];
        *host = (struct host){.behaviour = host->behaviour, .period_ms = host->period_ms};
    }
}

/* --- sums ------------------------------------------------------------------------------------ */

static void check_log(struct sim *sim, uint32_t account_no, uint64_t event_no)
{
    const struct entry *e = late_store_entry(sim, account_no, event_no);
    const struct witness *w = sim_witness(sim, account_no, event_no);
    if ((int32_t)e->log_count != w->starts - w->under_way)
        sim_found(sim, CHECK_COUNTERS, "account %u event %llu: %zu attempts logged, %d made",
                  account_no, number(event_no), e->log_count, w->starts - w->under_way);
    for (size_t i = 0; i < e->log_count; i++)
        if (e->log[i].number != (int32_t)i + 1)
            sim_found(sim, CHECK_COUNTERS, "account %u event %llu: attempt %zu is numbered %d",
                      account_no, number(event_no), i + 1, e->log[i].number);
}

void checks_counters(struct sim *sim)
{
    struct delivery_numbers made;
    struct store_numbers kept;
    int64_t delivered = sim->retired_delivered, dead = sim->retired_dead;
    int64_t accepted = sim->retired_events;
    delivery_get_numbers(sim->delivery, &made);
    store_get_numbers(&sim->late.store, &kept);
    for (int c = 0; c < ATTEMPT_CLASSES; c++)
        if (made.attempts[c] != sim->ends[c])
            sim_found(sim, CHECK_COUNTERS, "%lld attempts of class %s counted, %lld ended",
                      (long long)made.attempts[c], attempt_class_name((enum attempt_class)c),
                      (long long)sim->ends[c]);
    if (made.in_flight != (int64_t)sim->exchanges.count)
        sim_found(sim, CHECK_COUNTERS, "%lld under way counted, there are %zu",
                  (long long)made.in_flight, sim->exchanges.count);
    for (uint32_t account = 1; account <= sim->shard_count; account++) {
        const struct shard *shard = &sim->shards[account - 1];
        accepted += (int64_t)shard->count;
        for (size_t i = 0; i < shard->count; i++) {
            delivered += shard->witnesses[i].was_delivered;
            dead += shard->witnesses[i].was_dead;
            if (sim->late.jobs.count == 0)
                check_log(sim, account, i + 1);
        }
    }
    if (kept.events_accepted != accepted || kept.callbacks_delivered != delivered ||
        kept.callbacks_dead != dead)
        sim_found(sim, CHECK_COUNTERS,
                  "accepted %lld, delivered %lld, dead %lld; counted "
                  "%lld, %lld, %lld",
                  (long long)accepted, (long long)delivered, (long long)dead,
                  (long long)kept.events_accepted, (long long)kept.callbacks_delivered,
                  (long long)kept.callbacks_dead);
}

void checks_at_end(struct sim *sim)
{
    checks_counters(sim);
    checks_books(sim);
    checks_statements(sim);
    checks_memory(sim);
    for (uint32_t account = 1; account <= sim->shard_count; account++) {
        for (size_t i = 0; i < sim->shards[account - 1].count; i++) {
            const struct entry *e = late_store_entry(sim, account, i + 1);
            if (sim_witness(sim, account, i + 1)->owed)
                sim_found(sim, CHECK_RESEND, "account %u event %zu was resent and not tried",
                          account, i + 1);
            if (e->life.wait != WAIT_NOT)
                sim_found(sim, CHECK_LOST,
                          "account %u event %zu still waits, due %lld s ago, lane %llu", account,
                          i + 1, (long long)((sim_wall(sim) - e->life.place.due_ms) / SECOND),
                          number(lane_of(e->event.app_no, e->event.lane)));
        }
    }
    struct delivery_numbers made;
    delivery_get_numbers(sim->delivery, &made);
    if (made.callbacks_in_ram != 0)
        sim_found(sim, CHECK_COUNTERS, "%lld callbacks in memory, and none waits",
                  (long long)made.callbacks_in_ram);
}
