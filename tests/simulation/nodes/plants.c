/* Bugs to be caught: in the rules that the database keeps, in how a node keeps them, and in what it
 * asks its decisions. Each stands where the right thing is done, behind planted(). */
#include "nodes.h"

#include <string.h>

int plant_now = -1;

const struct plant plants[] = {
    {"fence_not_increased", CHECK_FENCE},
    {"outcome_not_fenced", CHECK_FENCED},
    {"owner_compared", CHECK_FENCED},
    {"claim_not_compared", CHECK_ALONE},
    {"renewed_one_claimed", CHECK_ALONE},
    {"lease_over_too_early", CHECK_ALONE},
    {"lease_from_the_answer", CHECK_LEASE},
    {"margin_ignored", CHECK_LEASE},
    {"lease_ignored", CHECK_LEASE},
    {"page_before_claim", CHECK_FINAL},
    {"carried_under_an_old_fence", CHECK_FINAL},
    {"carried_though_shown", CHECK_FINAL},
    {"carried_before_the_commit", CHECK_FINAL},
    {"busy_ignored", CHECK_DRAINED},
    {"row_dropped_while_lapsed", CHECK_LATE},
    {"rows_of_lost_shards_taken", CHECK_LATE},
    {"row_behind_forgotten", CHECK_LATE},
    {"claimed_not_looked_through", CHECK_LATE},
    {"no_rescan", CHECK_LOST},
    {"newest_overlooked", CHECK_EVEN},
    {"others_overlooked_at_times", CHECK_STILL},
};
const size_t plant_count = sizeof plants / sizeof *plants;

bool planted(const char *name)
{
    return plant_now >= 0 && strcmp(plants[plant_now].name, name) == 0;
}
