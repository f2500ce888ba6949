/*
 * The record codec: what goes in comes out, absent and empty texts told apart; whatever is cut
 * short or out of range is refused and never read beyond its end.
 */
#include "base/alloc.h"
#include "check.h"
#include "store/journal/record.h"

#include <stdlib.h>

static const struct event full_event = {
    .account_no = 7,
    .app_no = 8,
    .client_no = 9,
    .event_no = 1234567890123,
    .type = EVENT_OFFER_COMPLETION_REVERSED,
    .lane = LANE_OFFER,
    .is_test = true,
    .reward_decimals = 6,
    .occurred_ms = 1763726400123,
    .accepted_ms = 1763726400999,
    .revenue_micros = -350000,
    .reward_micros = INT64_MIN + 1,
    .offer_id = (INT64_C(1) << 53) - 1,
    .original_no = UINT64_MAX,
    .event_id = STR("c-1"),
    .panelist_id = STR("user-\xc3\xbc/1"),
    .session_id = STR(""),
    .mid = {NULL, 0},
    .offer_title = STR("Ti<tle>"),
    .offer_goal_id = {NULL, 0},
    .original_reward_id = STR("r-1"),
    .reason = STR("\n"),
    .key = {1, 2},
    .content = UINT64_MAX - 4,
    .body = STR("{\"Sig\":\"00000000000000000000000000000000\"}"),
    .signature_offset = 8,
    .state = CALLBACK_SKIPPED,
    .reason_skipped = REASON_IMPORTED,
    .cap = CAP_REACHED,
    .due_ms = 1763726400123,
};

static const struct outcome full_outcome = {
    .account_no = 1,
    .event_no = 2,
    .lane = 33,
    .has_attempt = true,
    .attempt = {.number = 3,
                .manual = true,
                .at_ms = -5,
                .duration_ms = 10000,
                .status = 503,
                .class = ATTEMPT_STATUS,
                .url = STR("http://***:***@a.example/x"),
                .detail = STR("said 503"),
                .request_headers = STR("A: b\n"),
                .response_headers = {NULL, 0},
                .response_body = {"\0\xff", 2}},
    .state = CALLBACK_PENDING,
    .place = {.failed_attempts = 3, .slot = 4, .due_ms = 1763726400999},
};

static void check_same_event(const struct event *a, const struct event *b)
{
    CHECK_EQ_UINT(a->account_no, b->account_no);
    CHECK_EQ_UINT(a->app_no, b->app_no);
    CHECK_EQ_UINT(a->client_no, b->client_no);
    CHECK_EQ_UINT(a->event_no, b->event_no);
    CHECK_EQ_INT(a->type, b->type);
    CHECK_EQ_INT(a->lane, b->lane);
    CHECK_EQ_INT(a->is_test, b->is_test);
    CHECK_EQ_INT(a->reward_decimals, b->reward_decimals);
    CHECK_EQ_INT(a->occurred_ms, b->occurred_ms);
    CHECK_EQ_INT(a->accepted_ms, b->accepted_ms);
    CHECK_EQ_INT(a->due_ms, b->due_ms);
    CHECK_EQ_INT(a->revenue_micros, b->revenue_micros);
    CHECK_EQ_INT(a->reward_micros, b->reward_micros);
    CHECK_EQ_INT(a->offer_id, b->offer_id);
    CHECK_EQ_UINT(a->original_no, b->original_no);
    CHECK(str_eq(a->event_id, b->event_id));
    CHECK(str_eq(a->panelist_id, b->panelist_id));
    CHECK(str_eq(a->session_id, b->session_id));
    CHECK(str_eq(a->mid, b->mid));
    CHECK(str_eq(a->offer_title, b->offer_title));
    CHECK(str_eq(a->offer_goal_id, b->offer_goal_id));
    CHECK(str_eq(a->original_reward_id, b->original_reward_id));
    CHECK(str_eq(a->reason, b->reason));
    CHECK(key128_eq(a->key, b->key));
    CHECK_EQ_UINT(a->content, b->content);
    CHECK(str_eq(a->body, b->body));
    CHECK_EQ_UINT(a->signature_offset, b->signature_offset);
    CHECK_EQ_INT(a->state, b->state);
    CHECK_EQ_INT(a->reason_skipped, b->reason_skipped);
    CHECK_EQ_INT(a->cap, b->cap);
}

static void check_same_outcome(const struct outcome *a, const struct outcome *b)
{
    CHECK_EQ_UINT(a->account_no, b->account_no);
    CHECK_EQ_UINT(a->event_no, b->event_no);
    CHECK_EQ_UINT(a->lane, b->lane);
    CHECK_EQ_INT(a->has_attempt, b->has_attempt);
    CHECK_EQ_INT(a->state, b->state);
    CHECK_EQ_INT(a->reason, b->reason);
    CHECK_EQ_INT(a->place.failed_attempts, b->place.failed_attempts);
    CHECK_EQ_INT(a->place.slot, b->place.slot);
    CHECK_EQ_INT(a->place.due_ms, b->place.due_ms);
    CHECK_EQ_INT(a->attempt.number, b->attempt.number);
    CHECK_EQ_INT(a->attempt.manual, b->attempt.manual);
    CHECK_EQ_INT(a->attempt.at_ms, b->attempt.at_ms);
    CHECK_EQ_INT(a->attempt.duration_ms, b->attempt.duration_ms);
    CHECK_EQ_INT(a->attempt.status, b->attempt.status);
    CHECK_EQ_INT(a->attempt.class, b->attempt.class);
    CHECK(str_eq(a->attempt.url, b->attempt.url));
    CHECK(str_eq(a->attempt.detail, b->attempt.detail));
    CHECK(str_eq(a->attempt.request_headers, b->attempt.request_headers));
    CHECK(str_eq(a->attempt.response_headers, b->attempt.response_headers));
    CHECK(str_eq(a->attempt.response_body, b->attempt.response_body));
}

static const struct outcome plain_outcome = {
    .account_no = 1, .event_no = 9, .state = CALLBACK_SKIPPED, .reason = REASON_DISABLED};

static void add_one_of_each(struct buf *b)
{
    record_add_event(b, &full_event);
    record_add_outcome(b, &full_outcome);
    record_add_outcome(b, &plain_outcome);
    record_add_object(b, OBJECT_APP, STR("app_1"), STR("{}"));
    record_add_object(b, OBJECT_KEY, STR("k"), STR_NONE);
    record_add_resend(b, &(struct record_resend){1, 2, 3, true, 4});
    record_add_erase(b, &(struct record_erase){5, STR("who"), STR("gone")});
}

static void reads_back_what_was_added(void)
{
    struct buf b = {0};
    add_one_of_each(&b);
    struct str rest = buf_str(&b);
    struct record r;
    bool bad = false;
    REQUIRE(record_next(&rest, &r, &bad) && r.kind == RECORD_EVENT);
    check_same_event(&r.event, &full_event);
    REQUIRE(record_next(&rest, &r, &bad) && r.kind == RECORD_OUTCOME);
    check_same_outcome(&r.outcome, &full_outcome);
    REQUIRE(record_next(&rest, &r, &bad) && r.kind == RECORD_OUTCOME);
    check_same_outcome(&r.outcome, &plain_outcome);
    REQUIRE(record_next(&rest, &r, &bad) && r.kind == RECORD_OBJECT);
    CHECK_EQ_INT(r.object.kind, OBJECT_APP);
    CHECK_STR(r.object.id, "app_1");
    CHECK_STR(r.object.document, "{}");
    REQUIRE(record_next(&rest, &r, &bad) && r.kind == RECORD_OBJECT);
    CHECK(r.object.document.p == NULL);
    REQUIRE(record_next(&rest, &r, &bad) && r.kind == RECORD_RESEND);
    CHECK(r.resend.account_no == 1 && r.resend.event_no == 2 && r.resend.lane == 3);
    CHECK(r.resend.was_delivered && r.resend.due_ms == 4);
    REQUIRE(record_next(&rest, &r, &bad) && r.kind == RECORD_ERASE);
    CHECK_EQ_UINT(r.erase.account_no, 5);
    CHECK_STR(r.erase.panelist_id, "who");
    CHECK_STR(r.erase.replacement, "gone");
    CHECK(!record_next(&rest, &r, &bad) && !bad && rest.n == 0);
    buf_free(&b);
}

/* How many records there are; -1: bad. The bytes are copied to the end of an allocation, so that
 * the address sanitizer sees a read past them. */
static int count_records(const char *p, size_t n)
{
    char *copy = xmalloc(n);
    if (n)
        memcpy(copy, p, n);
    struct str rest = {copy, n};
    struct record r;
    bool bad = false;
    int count = 0;
    while (record_next(&rest, &r, &bad))
        count++;
    free(copy);
    return bad ? -1 : count;
}

static void refuses_every_cut(void)
{
    struct buf b = {0};
    add_one_of_each(&b);
    CHECK_EQ_INT(count_records(b.p, b.n), 7);
    int whole = 0;
    for (size_t n = 0; n < b.n; n++)
        whole += count_records(b.p, n) >= 0;
    CHECK_EQ_INT(whole, 7); /* only the cuts between two records are groups of their own */
    buf_free(&b);
}

static void refuses_what_is_out_of_range(void)
{
    struct event e = full_event;
    struct buf b = {0};
    e.event_no = 0;
    record_add_event(&b, &e);
    CHECK_EQ_INT(count_records(b.p, b.n), -1);
    buf_clear(&b);
    e = full_event;
    e.signature_offset = (uint16_t)(e.body.n - 31);
    record_add_event(&b, &e);
    CHECK_EQ_INT(count_records(b.p, b.n), -1);
    buf_clear(&b);
    e = full_event;
    e.state = CALLBACK_DELIVERING;
    record_add_event(&b, &e);
    CHECK_EQ_INT(count_records(b.p, b.n), -1);
    buf_clear(&b);
    struct outcome o = full_outcome;
    o.state = CALLBACK_NONE;
    record_add_outcome(&b, &o);
    CHECK_EQ_INT(count_records(b.p, b.n), -1);
    buf_clear(&b);
    record_add_object(&b, OBJECT_KEY, STR("k"), STR_NONE);
    b.p[0] = 99;
    CHECK_EQ_INT(count_records(b.p, b.n), -1);
    buf_free(&b);
}

/* The first bytes of each layout, as they must stay readable for ever. */
static void keeps_its_layout(void)
{
    struct buf b = {0};
    record_add_object(&b, OBJECT_KEY, STR("k"), STR_NONE);
    static const char object[] = "\x03\x0a\0\0\0\x04\x01\0\0\0k\xff\xff\xff\xff";
    CHECK_BYTES(b.p, b.n, object, sizeof object - 1);
    buf_clear(&b);
    record_add_resend(&b, &(struct record_resend){1, 2, 3, true, 4});
    static const char resend[] = "\x04\x1d\0\0\0\1\0\0\0\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\1"
                                 "\4\0\0\0\0\0\0\0";
    CHECK_BYTES(b.p, b.n, resend, sizeof resend - 1);
    buf_free(&b);
}

int main(void)
{
    RUN(reads_back_what_was_added);
    RUN(refuses_every_cut);
    RUN(refuses_what_is_out_of_range);
    RUN(keeps_its_layout);
    return check_done("record");
}
