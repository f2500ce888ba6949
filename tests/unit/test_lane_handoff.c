/* What a lane makes of callbacks that another node has carried to it, beside its pages. */
#include "check.h"
#include "lane_callback.h"

#include "delivery/lane.h"

static const struct lane_now start = {.wall_ms = 1763726400000, .mono_ms = 1000000};

static struct lane *new_lane(struct lane_shared *shared, struct destination *destination)
{
    struct lane *lane = lane_new(lane_of(1, LANE_SUCCESS), shared, &start);
    struct lane_settings s = {
        .enabled = true, .has_url = true, .max_concurrency = 8, .url_hash = 1};
    lane->destination = destination;
    lane->fence = 7;
    lane_set(lane, &s, &start);
    return lane;
}

static struct callback *callback_no(uint64_t event_no)
{
    return callback_numbered(event_no, start.wall_ms);
}

static void carry(struct lane *lane, uint64_t event_no)
{
    struct callback *c = callback_no(event_no);
    struct lane_now now = {start.wall_ms + 1000, start.mono_ms + 1000};
    c->stamp = (struct handoff_stamp){7, now.mono_ms};
    lane_offer(lane, c, 100, &now);
}

/* An empty page; perhaps something was resent, and delivered, while it was under way. */
static void look(struct lane *lane, uint64_t resent_no)
{
    struct due_page page = {.next_due_ms = INT64_MAX};
    lane_page_asked(lane, PAGE_FILL);
    if (resent_no) {
        struct callback *resent = callback_no(resent_no);
        resent->manual = true;
        lane_offer(lane, resent, 100, &start);
        lane_finish(lane, lane_take(lane), LANE_FINISH_FINAL, 10, &start);
        lane_recorded(lane, resent_no, CALLBACK_DELIVERED, 0, &start);
    }
    lane_page_ended(lane, &page, 0, &start);
}

/* Between the page's reading and the resend of something newer others may have been accepted. */
static void what_a_page_could_not_show_is_looked_for(void)
{
    struct lane_shared shared = {0};
    struct destination *destination = destination_new("http://h:80", 11);
    struct lane *lane = new_lane(&shared, destination);
    look(lane, 9);
    CHECK(lane->scans.next_due_ms == INT64_MAX);
    carry(lane, 8);
    CHECK(lane->scans.next_due_ms != INT64_MAX);
    look(lane, 0);
    CHECK(lane->scans.next_due_ms == INT64_MAX);
    carry(lane, 8); /* this one would have shown it */
    carry(lane, 9);
    CHECK(lane->scans.next_due_ms == INT64_MAX);
    CHECK_EQ_INT(lane_queued(lane), 0);
    carry(lane, 10);
    CHECK_EQ_INT(lane_queued(lane), 1);
    lane_drop_queued(lane);
    lane->destination = NULL;
    lane_free(lane);
    destination_free(destination);
}

int main(void)
{
    RUN(what_a_page_could_not_show_is_looked_for);
    return check_done("lane_handoff");
}
