/* The life of a callback: each row of docs/state.md, "A callback", from each state it names. */
#include "domain/callback_life.h"

#include "check.h"

#define NOW INT64_C(1763726400000)

static const struct callback_life pending = {.state = CALLBACK_PENDING, .wait = WAIT_DUE};
static const struct callback_life delivered = {.state = CALLBACK_DELIVERED};

static struct callback_life accepted(enum callback_state state,
                                     const struct callback_life *original)
{
    struct event e = {
        .app_no = 3, .lane = LANE_OFFER, .state = state, .due_ms = NOW, .original_no = 1};
    return life_accept(&e, original);
}

static void a_new_callback_waits_unless_it_is_skipped(void)
{
    struct callback_life s = accepted(CALLBACK_PENDING, NULL);
    CHECK(s.wait == WAIT_DUE && s.place.due_ms == NOW && s.attempts == 0 && !s.manual);
    CHECK_EQ_UINT(s.lane, lane_of(3, LANE_OFFER));
    CHECK_EQ_INT(accepted(CALLBACK_SKIPPED, &pending).wait, WAIT_NOT);
    CHECK_EQ_INT(accepted(CALLBACK_NONE, NULL).wait, WAIT_NOT);
}

static void a_reversal_is_held_back_while_its_original_is_pending(void)
{
    static const enum callback_state final[] = {CALLBACK_DELIVERED, CALLBACK_DEAD,
                                                CALLBACK_SKIPPED};
    CHECK_EQ_INT(accepted(CALLBACK_PENDING, &pending).wait, WAIT_HELD);
    for (size_t i = 0; i < ARRAY_LEN(final); i++) {
        struct callback_life original = {.state = final[i], .wait = WAIT_DUE};
        CHECK_EQ_INT(accepted(CALLBACK_PENDING, &original).wait, WAIT_DUE);
    }
    struct callback_life held = accepted(CALLBACK_PENDING, &pending);
    CHECK(!life_release(&held, &pending, NOW + 5) && held.wait == WAIT_HELD);
    CHECK(life_release(&held, &delivered, NOW + 7) && held.wait == WAIT_DUE);
    CHECK_EQ_INT(held.place.due_ms, NOW + 7);
    CHECK(!life_release(&held, &delivered, NOW + 9)); /* once */
    CHECK_EQ_INT(held.place.due_ms, NOW + 7);
    for (size_t i = 0; i < ARRAY_LEN(final); i++) {
        struct callback_life original = {.state = final[i]};
        held = accepted(CALLBACK_PENDING, &pending);
        CHECK(life_release(&held, &original, INT64_MIN) && held.place.due_ms == NOW);
    }
}

static void a_decision_replaces_where_it_stood(void)
{
    struct callback_life s = {.state = CALLBACK_PENDING, .wait = WAIT_DUE, .manual = true};
    struct callback_decision again = {
        .state = CALLBACK_PENDING, .place = {1, 1, NOW + 5}, .attempt = 4};
    life_decide(&s, &again);
    CHECK(s.state == CALLBACK_PENDING && s.wait == WAIT_DUE && !s.manual && s.attempts == 4);
    CHECK_EQ_INT(s.place.due_ms, NOW + 5);
    struct callback_decision late = {.state = CALLBACK_DELIVERED, .attempt = 3};
    life_decide(&s, &late);
    CHECK(s.state == CALLBACK_DELIVERED && s.wait == WAIT_NOT && s.attempts == 4);
    struct callback_decision skip = {.state = CALLBACK_SKIPPED, .reason = REASON_NO_URL};
    s = pending;
    life_decide(&s, &skip);
    CHECK(s.state == CALLBACK_SKIPPED && s.reason == REASON_NO_URL && s.wait == WAIT_NOT);
}

static void an_erased_one_is_not_tried_again(void)
{
    struct callback_life s = pending;
    life_erase(&s);
    CHECK(s.state == CALLBACK_SKIPPED && s.reason == REASON_DISABLED && s.wait == WAIT_NOT);
    struct callback_decision again = {
        .state = CALLBACK_PENDING, .place = {1, 1, NOW + 5}, .attempt = 1};
    s = pending;
    again.is_erased = true;
    life_decide(&s, &again);
    CHECK(s.state == CALLBACK_SKIPPED && s.wait == WAIT_NOT && s.attempts == 1);
    struct callback_decision good = {.state = CALLBACK_DELIVERED, .attempt = 1};
    s = pending;
    good.is_erased = true;
    life_decide(&s, &good);
    CHECK_EQ_INT(s.state, CALLBACK_DELIVERED);
    s = (struct callback_life){.state = CALLBACK_DELIVERED, .wait = WAIT_DUE};
    life_erase(&s); /* the extra try of a resend is owed no more */
    CHECK(s.state == CALLBACK_DELIVERED && s.wait == WAIT_NOT);
}

static void a_resend_starts_over_where_it_was_over(void)
{
    struct callback_life s = {
        .state = CALLBACK_PENDING, .wait = WAIT_DUE, .place = {2, 3, NOW + 50000}};
    life_resend(&s, NOW, NULL);
    CHECK(s.state == CALLBACK_PENDING && s.place.slot == 3 && s.place.due_ms == NOW && s.manual);
    s = (struct callback_life){
        .state = CALLBACK_DEAD, .reason = REASON_DISABLED, .attempts = 12, .place = {12, 11, NOW}};
    life_resend(&s, NOW + 1, &delivered);
    CHECK(s.state == CALLBACK_PENDING && s.reason == REASON_NONE && s.wait == WAIT_DUE);
    CHECK(s.place.slot == 0 && s.place.failed_attempts == 0 && s.attempts == 12);
    s = delivered;
    life_resend(&s, NOW, &pending); /* it was sent before: nothing to hold back */
    CHECK(s.state == CALLBACK_DELIVERED && s.wait == WAIT_DUE);
    s = (struct callback_life){.state = CALLBACK_SKIPPED};
    life_resend(&s, NOW, &pending);
    CHECK(s.state == CALLBACK_PENDING && s.wait == WAIT_HELD && s.manual);
}

static void a_resend_is_answered_by_an_outcome_that_knew_of_it(void)
{
    struct pending_resend none = {0}, r = {.no = 8, .due_ms = NOW};
    CHECK(!life_answer_resend(&none, 0, false) && none.no == 0);
    CHECK(life_answer_resend(&r, 7, false));
    CHECK(r.no == 8 && r.due_ms == NOW); /* the next outcome answers it, or is behind it, too */
    CHECK(!life_answer_resend(&r, 8, false) && r.no == 0);
    r.no = 9;
    CHECK(!life_answer_resend(&r, 3, true) && r.no == 0); /* nothing is left to send */
}

static void a_resend_is_judged_by_what_is_left(void)
{
    struct event e = {.lane = LANE_SUCCESS, .body = STR("{}")};
    CHECK_EQ_INT(life_judge_resend(&e, CALLBACK_DEAD, 0), RESEND_ACCEPTED);
    CHECK_EQ_INT(life_judge_resend(&e, CALLBACK_DEAD, 1u << CALLBACK_DEAD), RESEND_ACCEPTED);
    CHECK_EQ_INT(life_judge_resend(&e, CALLBACK_DEAD, 1u << CALLBACK_SKIPPED), RESEND_NOT_MEANT);
    e.body = STR_NONE;
    CHECK_EQ_INT(life_judge_resend(&e, CALLBACK_DEAD, 0), RESEND_BODY_PURGED);
    CHECK_EQ_INT(life_judge_resend(&e, CALLBACK_DEAD, 1u << CALLBACK_SKIPPED), RESEND_NOT_MEANT);
    e.is_erased = true;
    CHECK_EQ_INT(life_judge_resend(&e, CALLBACK_DEAD, 0), RESEND_BODY_ERASED);
    e.body = STR("{}"); /* as a store reads it that sees the erasure before the body's removal */
    CHECK_EQ_INT(life_judge_resend(&e, CALLBACK_DEAD, 0), RESEND_BODY_ERASED);
    e.lane = LANE_NONE;
    CHECK_EQ_INT(life_judge_resend(&e, CALLBACK_NONE, 0), RESEND_NOT_MEANT);
}

int main(void)
{
    RUN(a_new_callback_waits_unless_it_is_skipped);
    RUN(a_reversal_is_held_back_while_its_original_is_pending);
    RUN(a_decision_replaces_where_it_stood);
    RUN(an_erased_one_is_not_tried_again);
    RUN(a_resend_starts_over_where_it_was_over);
    RUN(a_resend_is_answered_by_an_outcome_that_knew_of_it);
    RUN(a_resend_is_judged_by_what_is_left);
    return check_done("callback_life");
}
