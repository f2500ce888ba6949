/* Callbacks as bytes between nodes: what goes in comes out, and nothing else does. */
#include "check.h"

#include "store/nodes/handoff_codec.h"

static const struct event sent[] = {
    {
        .event_no = 12345678901,
        .type = EVENT_OFFER_COMPLETION_REVERSED,
        .is_test = true,
        .signature_offset = 65535,
        .original_no = 77,
        .occurred_ms = -5,
        .accepted_ms = 1763726400123,
        .due_ms = 1763726400120,
        .revenue_micros = -1234567,
        .reward_micros = INT64_MIN,
        .app_no = UINT32_MAX,
        .event_id = STR("e-1"),
        .panelist_id = STR(""),
        .body = STR("{\"Sig\":\"00000000000000000000000000000000\"}"),
    },
    {.event_no = 1, .type = EVENT_SURVEY_COMPLETED, .body = STR("x")},
};

static bool same(const struct event *a, const struct event *b)
{
    return a->event_no == b->event_no && a->type == b->type && a->is_test == b->is_test &&
           a->signature_offset == b->signature_offset && a->original_no == b->original_no &&
           a->occurred_ms == b->occurred_ms && a->accepted_ms == b->accepted_ms &&
           a->due_ms == b->due_ms && a->app_no == b->app_no &&
           a->revenue_micros == b->revenue_micros && a->reward_micros == b->reward_micros &&
           str_eq(a->event_id, b->event_id) && str_eq(a->panelist_id, b->panelist_id) &&
           str_eq(a->body, b->body) && !a->event_id.p == !b->event_id.p;
}

static struct buf carried(void)
{
    struct buf b = {0};
    for (size_t i = 0; i < ARRAY_LEN(sent); i++) {
        size_t before = b.n;
        handoff_encode(&b, &sent[i]);
        CHECK_EQ_UINT(b.n - before, handoff_bytes(&sent[i]));
    }
    return b;
}

static void what_goes_in_comes_out(void)
{
    struct buf b = carried();
    struct str rest = buf_str(&b);
    struct event e;
    for (size_t i = 0; i < ARRAY_LEN(sent); i++)
        CHECK(handoff_decode(&rest, &e) && same(&e, &sent[i]));
    CHECK(!handoff_decode(&rest, &e));
    CHECK_EQ_UINT(rest.n, 0);
    buf_free(&b);
}

/* Cut anywhere: those that are whole, and the rest is left. */
static void what_is_cut_is_left(void)
{
    struct buf b = carried();
    struct event e;
    for (size_t n = 1; n < b.n; n++) {
        struct str rest = {b.p, n};
        size_t count = 0;
        while (handoff_decode(&rest, &e))
            count++;
        CHECK_EQ_UINT(count, n >= handoff_bytes(&sent[0]));
        CHECK_EQ_INT(rest.n == 0, n == handoff_bytes(&sent[0]));
    }
    buf_free(&b);
}

static void another_layout_is_left(void)
{
    struct buf b = carried();
    struct str rest = buf_str(&b);
    struct event e;
    b.p[0]++;
    CHECK(!handoff_decode(&rest, &e));
    CHECK_EQ_UINT(rest.n, b.n);
    buf_free(&b);
}

int main(void)
{
    RUN(what_goes_in_comes_out);
    RUN(what_is_cut_is_left);
    RUN(another_layout_is_left);
    return check_done("handoff_codec");
}
