/* Recoveries as documents: what is printed is read back, and what is damaged is refused; and what
 * another node has begun is known at once. */
#include "services/recovery.h"

#include "base/buf.h"

#include "check.h"

#include <stdlib.h>

static bool read_text(struct str text, struct recovery *ret)
{
    struct arena arena = {0};
    struct json *object = NULL;
    struct str why;
    bool good = json_parse(&arena, text, &object, &why) && recovery_read(object, ret);
    arena_free(&arena);
    return good;
}

static struct recovery sample(struct recovery_part parts[2])
{
    parts[0] = (struct recovery_part){7, CALLBACK_DEAD, 1099511627776};
    parts[1] = (struct recovery_part){8, CALLBACK_NONE, 3};
    return (struct recovery){
        .id = "rec_00112233445566778899aabb",
        .account_no = 3,
        .app_no = 0,
        .from_ms = -5,
        .to_ms = 1763726400000,
        .until_ms = 1763726399999,
        .created_ms = 1763726399998,
        .states = 1u << CALLBACK_DEAD | 1u << CALLBACK_SKIPPED,
        .rate_per_second = 250,
        .matched = 1000000,
        .resent = 999,
        .purged = 5,
        .erased = 4,
        .parts = parts,
        .part_count = 2,
    };
}

static void what_is_printed_is_read_back(void)
{
    struct recovery_part parts[2];
    struct recovery want = sample(parts), got;
    struct buf text = {0}, again = {0};
    recovery_print(&text, &want);
    REQUIRE(read_text(buf_str(&text), &got));
    CHECK_CSTR(got.id, want.id);
    CHECK(got.account_no == 3 && got.app_no == 0 && got.states == want.states);
    CHECK(got.from_ms == -5 && got.to_ms == want.to_ms && got.until_ms == want.until_ms);
    CHECK(got.matched == 1000000 && got.resent == 999 && got.rate_per_second == 250);
    CHECK(got.purged == 5 && got.erased == 4);
    CHECK_EQ_UINT(got.part_count, 2);
    CHECK_EQ_UINT(got.parts[0].after_event_no, 1099511627776);
    recovery_print(&again, &got);
    CHECK(str_eq(buf_str(&text), buf_str(&again)));
    free(got.parts);
    buf_free(&text);
    buf_free(&again);
}

/* Every member is needed, and every one is judged. */
static void what_is_damaged_is_refused(void)
{
    struct recovery_part parts[2];
    struct recovery want = sample(parts), got;
    struct buf text = {0};
    recovery_print(&text, &want);
    const char *p = buf_c(&text);
    int tried = 0;
    for (const char *at = strchr(p, '"'); at; at = strstr(at + 1, ",\"")) {
        struct buf damaged = {0};
        size_t before = (size_t)(at - p) + (*at == ',');
        buf_add(&damaged, p, before);
        buf_add_c(&damaged, "\"x");
        buf_add_c(&damaged, p + before + 1);
        CHECK(!read_text(buf_str(&damaged), &got));
        buf_free(&damaged);
        tried++;
    }
    CHECK_EQ_INT(tried, 19);
    CHECK(!read_text(STR("[]"), &got));
    buf_free(&text);
}

static void states_come_in_their_order_and_end(void)
{
    unsigned both = 1u << CALLBACK_PENDING | 1u << CALLBACK_SKIPPED;
    CHECK_EQ_INT(recovery_next_state(both, CALLBACK_NONE), CALLBACK_PENDING);
    CHECK_EQ_INT(recovery_next_state(both, CALLBACK_PENDING), CALLBACK_SKIPPED);
    CHECK_EQ_INT(recovery_next_state(both, CALLBACK_SKIPPED), CALLBACK_NONE);
    struct recovery_part parts[2];
    struct recovery r = sample(parts);
    CHECK(!recovery_is_done(&r));
    parts[0].state = CALLBACK_NONE;
    CHECK(recovery_is_done(&r));
    r.part_count = 0;
    CHECK(recovery_is_done(&r));
}

/* A request repeated at this node asks for it before the recoveries' thread has run. */
static void one_that_another_node_began_is_found_at_once(void)
{
    struct recoveries *all = recoveries_new(env_real());
    struct recovery_part parts[2];
    struct recovery want = sample(parts), got;
    struct buf text = {0};
    bool done = true;
    recovery_print(&text, &want);
    recoveries_refresh(all, str_of(want.id), buf_str(&text));
    CHECK(recoveries_find(all, str_of(want.id), &got, &done));
    CHECK(!done && got.matched == want.matched);
    recoveries_free(all);
    buf_free(&text);
}

/* Behind control_catch_up it must be known, although the thread that unlinks it has not run. */
static void what_another_node_removed_is_gone_at_once(void)
{
    struct recoveries *all = recoveries_new(env_real());
    struct recovery_part parts[2];
    struct recovery r = sample(parts), found;
    struct buf text = {0};
    bool done;
    recovery_print(&text, &r);
    recoveries_refresh(all, str_of(r.id), buf_str(&text));
    CHECK(recoveries_find(all, str_of(r.id), &found, &done));
    CHECK_EQ_UINT(recoveries_running(all, r.account_no), 1);
    recoveries_refresh(all, str_of(r.id), STR_NONE);
    CHECK(!recoveries_find(all, str_of(r.id), &found, &done));
    CHECK_EQ_UINT(recoveries_running(all, r.account_no), 0);
    recoveries_free(all);
    buf_free(&text);
}

int main(void)
{
    RUN(what_is_printed_is_read_back);
    RUN(what_is_damaged_is_refused);
    RUN(states_come_in_their_order_and_end);
    RUN(one_that_another_node_began_is_found_at_once);
    RUN(what_another_node_removed_is_gone_at_once);
    return check_done("recovery");
}
