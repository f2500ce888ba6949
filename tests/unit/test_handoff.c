/* Whether what another node carries here is owed: by what the lane knows. */
#include "check.h"

#include "store/nodes/handoff.h"

static struct handoff_watermark watermark = {.made_mono_ms = 1000, .shown_no = 50};
static int64_t erased_mono_ms;

static enum handoff_fate judge(int64_t fence, int64_t since_mono_ms, uint64_t event_no)
{
    return handoff_judge(&watermark, erased_mono_ms, 7,
                         (struct handoff_stamp){fence, since_mono_ms}, event_no);
}

static void what_nothing_can_have_shown_is_owed(void)
{
    CHECK_EQ_INT(judge(7, 1001, 51), HANDOFF_OWED);
    CHECK_EQ_INT(judge(7, 5000, UINT64_MAX), HANDOFF_OWED);
}

static void another_fence_is_unsure(void)
{
    CHECK_EQ_INT(judge(6, 1001, 51), HANDOFF_UNSURE);
    CHECK_EQ_INT(judge(8, 1001, 51), HANDOFF_UNSURE);
    CHECK_EQ_INT(judge(8, 1001, 1), HANDOFF_UNSURE);
    CHECK_EQ_INT(judge(HANDOFF_FENCE_UNKNOWN, 1001, 51), HANDOFF_UNSURE);
}

static void what_may_be_from_before_the_lane_is_unsure(void)
{
    CHECK_EQ_INT(judge(7, 1000, 51), HANDOFF_UNSURE);
    CHECK_EQ_INT(judge(7, 999, 51), HANDOFF_UNSURE);
    CHECK_EQ_INT(judge(7, 1000, 1), HANDOFF_UNSURE);
}

static void what_was_shown_is_not_owed_again(void)
{
    CHECK_EQ_INT(judge(7, 1001, 50), HANDOFF_UNSURE);
    CHECK_EQ_INT(judge(7, 1001, 1), HANDOFF_UNSURE);
    watermark.covers = true;
    CHECK_EQ_INT(judge(7, 1001, 51), HANDOFF_OWED);
    CHECK_EQ_INT(judge(7, 1001, 50), HANDOFF_KNOWN);
    CHECK_EQ_INT(judge(7, 1001, 1), HANDOFF_KNOWN);
    CHECK_EQ_INT(judge(7, 1000, 1), HANDOFF_UNSURE);
    watermark.covers = false;
}

/* Whoever has read it: an erasure may have been told since. */
static void what_was_read_before_an_erasure_is_unsure(void)
{
    CHECK_EQ_INT(judge(0, 1, 1), HANDOFF_OWED); /* this node's own: it needs no order */
    erased_mono_ms = 2000;
    CHECK_EQ_INT(judge(0, 2000, 51), HANDOFF_UNSURE);
    CHECK_EQ_INT(judge(7, 2000, 51), HANDOFF_UNSURE);
    CHECK_EQ_INT(judge(0, 2001, 1), HANDOFF_OWED);
    CHECK_EQ_INT(judge(7, 2001, 51), HANDOFF_OWED);
    erased_mono_ms = 0;
}

int main(void)
{
    RUN(what_nothing_can_have_shown_is_owed);
    RUN(another_fence_is_unsure);
    RUN(what_may_be_from_before_the_lane_is_unsure);
    RUN(what_was_shown_is_not_owed_again);
    RUN(what_was_read_before_an_erasure_is_unsure);
    return check_done("handoff");
}
