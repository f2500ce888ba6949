/* Whether a callback waits, is due or is final: a function for each fact in the table of
 * docs/state.md, "A callback". */
#include "domain/callback_life.h"

static void check_life(const struct callback_life *s)
{
    switch (s->state) {
    case CALLBACK_PENDING: ASSERT(s->wait != WAIT_NOT); return;
    case CALLBACK_DELIVERED: ASSERT(s->wait != WAIT_HELD); return;
    case CALLBACK_NONE:
    case CALLBACK_DEAD:
    case CALLBACK_SKIPPED: ASSERT(s->wait == WAIT_NOT); return;
    case CALLBACK_DELIVERING: break;
    }
    UNREACHABLE(); /* it is stored as pending */
}

static bool is_held_back(const struct callback_life *original)
{
    return original && original->state == CALLBACK_PENDING;
}

struct callback_life life_accept(const struct event *e, const struct callback_life *original)
{
    ASSERT(!original || original->state != CALLBACK_NONE);
    struct callback_life s = {
        .lane = lane_of(e->app_no, e->lane),
        .state = e->state,
        .reason = e->reason_skipped,
    };
    ASSERT(s.state == CALLBACK_NONE || s.state == CALLBACK_PENDING || s.state == CALLBACK_SKIPPED);
    if (s.state != CALLBACK_PENDING)
        return s;
    s.place.due_ms = e->due_ms;
    s.wait = is_held_back(original) ? WAIT_HELD : WAIT_DUE;
    return s;
}

static bool life_is_final(enum callback_state state)
{
    return state == CALLBACK_DELIVERED || state == CALLBACK_DEAD || state == CALLBACK_SKIPPED;
}

/* True if the callback waited for this decision; otherwise the decision is a bug. */
static bool can_decide(const struct callback_life *s, const struct callback_decision *d)
{
    switch (s->state) {
    case CALLBACK_PENDING: return true;
    case CALLBACK_DELIVERED:
        return d->state == CALLBACK_DELIVERED && (s->wait == WAIT_DUE || d->is_erased);
    case CALLBACK_SKIPPED: return d->is_erased;
    default: return false;
    }
}

void life_decide(struct callback_life *s, const struct callback_decision *d)
{
    ASSERT(d->state == CALLBACK_PENDING || life_is_final(d->state));
    check_life(s);
    if (!can_decide(s, d)) {
        ASSERT(d->is_again && life_is_final(s->state));
        return;
    }
    s->state = d->state;
    s->reason = d->reason;
    /* a final callback's place is not needed, and would be stored for ever */
    s->place = life_is_final(d->state) ? (struct schedule_place){0} : d->place;
    s->manual = false;
    s->wait = d->state == CALLBACK_PENDING ? WAIT_DUE : WAIT_NOT;
    if (d->attempt > s->attempts)
        s->attempts = d->attempt;
    if (d->is_erased)
        life_erase(s);
}

enum resend_verdict life_judge_resend(const struct event *e, enum callback_state state,
                                      unsigned only_states)
{
    if (e->lane == LANE_NONE || (only_states && !(only_states & 1u << state)))
        return RESEND_NOT_MEANT;
    if (e->is_erased)
        /* first, because the body may be from a snapshot before the erasure */
        return RESEND_BODY_ERASED;
    return e->body.p ? RESEND_ACCEPTED : RESEND_BODY_PURGED;
}

void life_resend(struct callback_life *s, int64_t due_ms, const struct callback_life *original)
{
    check_life(s);
    ASSERT(s->state != CALLBACK_NONE);
    if (s->state == CALLBACK_DEAD || s->state == CALLBACK_SKIPPED) {
        s->place = (struct schedule_place){0};
        s->state = CALLBACK_PENDING;
        s->reason = REASON_NONE;
    }
    s->place.due_ms = due_ms;
    s->manual = true;
    s->wait = s->state == CALLBACK_PENDING && is_held_back(original) ? WAIT_HELD : WAIT_DUE;
}

bool life_answer_resend(struct pending_resend *resend, uint64_t known_no, bool is_erased)
{
    if (resend->no > known_no && !is_erased)
        return true;
    *resend = (struct pending_resend){0};
    return false;
}

void life_erase(struct callback_life *s)
{
    check_life(s);
    s->wait = WAIT_NOT;
    if (s->state != CALLBACK_PENDING)
        return;
    s->state = CALLBACK_SKIPPED;
    s->reason = REASON_DISABLED;
}

bool life_release(struct callback_life *s, const struct callback_life *original, int64_t end_ms)
{
    check_life(s);
    ASSERT(s->state != CALLBACK_NONE && original->state != CALLBACK_NONE);
    if (s->wait != WAIT_HELD || is_held_back(original))
        return false;
    s->wait = WAIT_DUE;
    if (end_ms > s->place.due_ms)
        s->place.due_ms = end_ms;
    return true;
}
