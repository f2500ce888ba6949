/* Whether what another node carries here is owed: by what the lane knows. */
#include "check.h"

#include "domain/carried.h"

static struct carried_sight sight = {.doubt_mono_ms = 1000, .shown_no = 50};

static enum carried_fate judge(int64_t fence, int64_t since_mono_ms, uint64_t event_no)
{
    return carried_judge(&sight, 7, (struct carried_word){fence, since_mono_ms}, event_no);
}

static void what_nothing_can_have_shown_is_owed(void)
{
    CHECK_EQ_INT(judge(7, 1001, 51), CARRIED_OWED);
    CHECK_EQ_INT(judge(7, 5000, UINT64_MAX), CARRIED_OWED);
}

static void another_fence_is_unsure(void)
{
    CHECK_EQ_INT(judge(6, 1001, 51), CARRIED_UNSURE);
    CHECK_EQ_INT(judge(8, 1001, 51), CARRIED_UNSURE);
    CHECK_EQ_INT(judge(8, 1001, 1), CARRIED_UNSURE);
}

static void what_may_be_from_before_the_lane_is_unsure(void)
{
    CHECK_EQ_INT(judge(7, 1000, 51), CARRIED_UNSURE);
    CHECK_EQ_INT(judge(7, 999, 51), CARRIED_UNSURE);
    CHECK_EQ_INT(judge(7, 1000, 1), CARRIED_UNSURE);
}

static void what_was_shown_is_not_owed_again(void)
{
    CHECK_EQ_INT(judge(7, 1001, 50), CARRIED_UNSURE);
    CHECK_EQ_INT(judge(7, 1001, 1), CARRIED_UNSURE);
    sight.covers = true;
    CHECK_EQ_INT(judge(7, 1001, 51), CARRIED_OWED);
    CHECK_EQ_INT(judge(7, 1001, 50), CARRIED_KNOWN);
    CHECK_EQ_INT(judge(7, 1001, 1), CARRIED_KNOWN);
    CHECK_EQ_INT(judge(7, 1000, 1), CARRIED_UNSURE);
    sight.covers = false;
}

int main(void)
{
    RUN(what_nothing_can_have_shown_is_owed);
    RUN(another_fence_is_unsure);
    RUN(what_may_be_from_before_the_lane_is_unsure);
    RUN(what_was_shown_is_not_owed_again);
    return check_done("carried");
}
