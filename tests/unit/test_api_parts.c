/* The small parts of the interface: cursors, percent-decoding, the rate limit, routes,
 * attempts as they are shown. */
#include "api/callback_render.h"
#include "api/query.h"
#include "api/route.h"
#include "api/slices.h"
#include "services/audit.h"
#include "services/cursor.h"
#include "services/rate_limit.h"

#include "check.h"

static void cursors_come_back_and_are_bound_to_their_account(void)
{
    struct buf text = {0};
    uint64_t no = 0;
    cursor_print(&text, 7, 1234567890123u);
    CHECK(cursor_parse(buf_str(&text), 7, &no));
    CHECK_EQ_UINT(no, 1234567890123u);
    CHECK(!cursor_parse(buf_str(&text), 8, &no));
    text.p[3] = text.p[3] == 'A' ? 'B' : 'A';
    CHECK(!cursor_parse(buf_str(&text), 7, &no));
    CHECK(!cursor_parse(STR(""), 7, &no));
    CHECK(!cursor_parse(STR("AAAA"), 7, &no));
    buf_free(&text);
}

static void cursors_of_the_feed_say_when_their_event_was_accepted(void)
{
    struct buf text = {0};
    struct feed_place place = {1234567890123u, -1}, found = {0};
    uint64_t no = 0;
    feed_cursor_print(&text, 7, &place);
    CHECK(feed_cursor_parse(buf_str(&text), 7, &found));
    CHECK_EQ_UINT(found.event_no, place.event_no);
    CHECK_EQ_INT(found.accepted_ms, -1);
    CHECK(!feed_cursor_parse(buf_str(&text), 8, &found));
    CHECK(!cursor_parse(buf_str(&text), 7, &no));
    text.p[3] = text.p[3] == 'A' ? 'B' : 'A';
    CHECK(!feed_cursor_parse(buf_str(&text), 7, &found));
    buf_clear(&text);
    cursor_print(&text, 7, 5); /* what partners have saved before these */
    CHECK(feed_cursor_parse(buf_str(&text), 7, &found));
    CHECK_EQ_UINT(found.event_no, 5);
    CHECK_EQ_INT(found.accepted_ms, 0);
    buf_free(&text);
}

static void cursors_of_days_come_back_and_are_bound_to_their_account(void)
{
    struct buf text = {0};
    struct day_place place = {-3, {(UINT64_C(1) << 40) - 1, 77}}, found = {0};
    uint64_t no = 0;
    day_cursor_print(&text, 7, &place);
    CHECK(day_cursor_parse(buf_str(&text), 7, &found));
    CHECK_EQ_INT(found.day, -3);
    CHECK_EQ_UINT(found.in_day.event_no, place.in_day.event_no);
    CHECK_EQ_INT(found.in_day.accepted_ms, 77);
    CHECK(!day_cursor_parse(buf_str(&text), 8, &found));
    CHECK(!cursor_parse(buf_str(&text), 7, &no));
    text.p[3] = text.p[3] == 'A' ? 'B' : 'A';
    CHECK(!day_cursor_parse(buf_str(&text), 7, &found));
    buf_clear(&text);
    cursor_print(&text, 7, 1);
    CHECK(!day_cursor_parse(buf_str(&text), 7, &found));
    CHECK(!day_cursor_parse(STR(""), 7, &found));
    buf_free(&text);
}

static void decodes_percent_strictly(void)
{
    struct arena a = {0};
    struct str s;
    CHECK(query_decode(&a, STR("a%20b+c"), true, &s) && str_is(s, "a b c"));
    CHECK(query_decode(&a, STR("a+b%2B"), false, &s) && str_is(s, "a+b+"));
    CHECK(query_decode(&a, STR("%c3%BC"), false, &s) && str_is(s, "\xc3\xbc"));
    CHECK(!query_decode(&a, STR("%"), false, &s));
    CHECK(!query_decode(&a, STR("%4"), false, &s));
    CHECK(!query_decode(&a, STR("%zz"), false, &s));
    CHECK(!query_decode(&a, STR("%00"), false, &s));
    CHECK(!query_decode(&a, STR("%ff"), false, &s));
    arena_free(&a);
}

static void limits_each_key_by_itself(void)
{
    struct rate_limit *l = rate_limit_new(2);
    struct rate_state s;
    CHECK(rate_limit_take(l, STR("a"), 1000, &s));
    CHECK_EQ_INT(s.remaining, 1);
    CHECK(rate_limit_take(l, STR("a"), 1000, &s));
    CHECK(!rate_limit_take(l, STR("a"), 1000, &s));
    CHECK_EQ_INT(s.reset_s, 60);
    CHECK_EQ_INT(s.retry_s, 30);
    CHECK(rate_limit_take(l, STR("b"), 1000, &s));
    CHECK(!rate_limit_take(l, STR("a"), 30999, &s));
    CHECK_EQ_INT(s.retry_s, 1);
    CHECK(rate_limit_take(l, STR("a"), 31000, &s));
    rate_limit_free(l);
}

static int taken(struct rate_limit *l, int64_t now_ms)
{
    struct rate_state s;
    int n = 0;
    while (rate_limit_take(l, STR("a"), now_ms, &s)) {
        n++;
        CHECK(s.remaining >= 0 && s.remaining < s.limit);
    }
    CHECK_EQ_INT(s.remaining, 0);
    CHECK(s.retry_s >= 1 && s.retry_s <= s.reset_s && s.reset_s <= 60);
    return n;
}

/* A minute's number at once after a rest, then a sixtieth of it each second. */
static void refills_a_limit_evenly(void)
{
    struct rate_limit *l = rate_limit_new(600);
    struct rate_state s;
    CHECK_EQ_INT(taken(l, 1000), 600);
    for (int64_t s_later = 1; s_later <= 5; s_later++)
        CHECK_EQ_INT(taken(l, 1000 + s_later * 1000), 10);
    CHECK_EQ_INT(taken(l, 36000), 300);
    CHECK_EQ_INT(taken(l, 3600000), 600);
    rate_limit_set(l, 7); /* is no divisor of a minute */
    CHECK_EQ_INT(taken(l, 7200000), 7);
    CHECK_EQ_INT(taken(l, 7209000), 1);
    rate_limit_set(l, 1000000);
    CHECK(rate_limit_take(l, STR("b"), 7200000, &s));
    CHECK_EQ_INT(s.remaining, 999999);
    rate_limit_set(l, 0);
    CHECK(!rate_limit_take(l, STR("c"), 7200000, &s));
    rate_limit_free(l);
}

static const struct route *find(enum http_method m, const char *path, struct str ids[2],
                                bool *known)
{
    static struct arena arena;
    return route_find(&arena, m, str_of(path), ids, known);
}

static void finds_routes_and_tells_404_from_405(void)
{
    struct str ids[2];
    bool known;
    const struct route *r = find(HTTP_DELETE, "/api/v1/partners/p1/keys/k%31", ids, &known);
    REQUIRE(r);
    CHECK_STR(ids[0], "p1");
    CHECK_STR(ids[1], "k1");
    r = find(HTTP_HEAD, "/api/v1/callbacks", ids, &known);
    CHECK(r && r->method == HTTP_GET);
    CHECK(!find(HTTP_PUT, "/api/v1/callbacks", ids, &known));
    CHECK(known);
    CHECK(!find(HTTP_GET, "/api/v1/nothing", ids, &known));
    CHECK(!known);
    CHECK(!find(HTTP_GET, "/api/v1/apps/", ids, &known));
    CHECK(!known);
    CHECK(!find(HTTP_GET, "/api/v1/callbacks/", ids, &known));
    CHECK(!known);
    CHECK_CSTR(route_below(STR("/api/v1/apps")), "/api/v1/partners/{PartnerId}/apps");
    CHECK_CSTR(route_below(STR("/api/v1/secret/rotate")), "/api/v1/apps/{AppId}/secret/rotate");
    CHECK(!route_below(STR("/api/v1")) && !route_below(STR("/api/v1/")));
    CHECK(!route_below(STR("/apps")) && !route_below(STR("/api/v1/nothing")));
    struct buf allow = {0};
    route_print_allow(&allow, STR("/api/v1/partners/x/keys"));
    CHECK_STR(allow, "GET, HEAD, POST");
    buf_free(&allow);
}

static void every_route_says_who_may_use_it(void)
{
    for (size_t i = 0; i < api_route_count; i++) {
        const struct route *r = &api_routes[i];
        CHECK((r->scope != 0) != ((r->flags & (ROUTE_PUBLIC | ROUTE_PERSON)) != 0));
        CHECK(r->summary && *r->summary);
    }
}

static void headers_are_shown_by_name_and_bounded(void)
{
    struct attempt a = {.class = ATTEMPT_OK, .status = 200};
    struct buf lines = {0}, out = {0};
    struct json_writer w;
    buf_add_c(&lines, "Set-Cookie: a\nServer: x\nSet-Cookie:  b \n");
    for (int i = 0; i < 5000; i++)
        buf_printf(&lines, "x%d: y\n", i);
    a.response_headers = buf_str(&lines);
    json_write_to(&w, &out);
    json_object(&w);
    render_attempt_members(NULL, &w, &a, &(struct event){0}, NULL);
    json_end_object(&w);
    const char *text = buf_c(&out);
    CHECK(strstr(text, "\"ResponseHeaders\":{\"Set-Cookie\":\"a, b\",\"Server\":\"x\",\"x0\":"));
    CHECK(strstr(text, "\"x196\":\"y\"}"));
    CHECK(!strstr(text, "x197"));
    CHECK(strstr(text, "\"RequestHeaders\":null"));
    buf_free(&lines);
    buf_free(&out);
}

/* Printed: what `slices` below say. */
struct printing {
    struct slices slices;
    size_t items, printed, calls, ends;
    bool more;
};

static bool print_some(struct slices *slices, size_t most)
{
    struct printing *p = CONTAINER_OF(slices, struct printing, slices);
    CHECK(most <= SLICE_ITEMS);
    size_t left = p->items - p->printed;
    p->printed += left < most ? left : most;
    p->calls++;
    return p->printed < p->items;
}

static void count_end(struct slices *slices, bool more)
{
    struct printing *p = CONTAINER_OF(slices, struct printing, slices);
    p->ends++;
    p->more = more;
}

static struct task *posted;

static void keep_task(struct executor *executor, struct task *task)
{
    (void)executor;
    CHECK(posted == NULL);
    posted = task;
}

/* The number of times that others had their turn. */
static size_t print_all(struct printing *p, size_t items, size_t limit)
{
    struct executor executor = {keep_task};
    size_t turns = 0;
    *p = (struct printing){
        .slices = {.executor = &executor, .left = limit, .print = print_some, .end = count_end},
        .items = items};
    slices_begin(&p->slices);
    for (; posted; turns++) {
        struct task *task = posted;
        posted = NULL;
        CHECK_EQ_UINT(p->ends, 0);
        task->run(task);
    }
    CHECK_EQ_UINT(p->ends, 1);
    CHECK_EQ_UINT(p->calls, turns + 1);
    return turns;
}

static void others_have_their_turn_between_slices(void)
{
    struct printing p;
    CHECK_EQ_UINT(print_all(&p, 0, 500), 0);
    CHECK_EQ_UINT(print_all(&p, SLICE_ITEMS, 500), 0);
    CHECK(p.printed == SLICE_ITEMS && !p.more);
    CHECK_EQ_UINT(print_all(&p, SLICE_ITEMS + 1, 500), 1);
    CHECK(p.printed == SLICE_ITEMS + 1 && !p.more);
    CHECK_EQ_UINT(print_all(&p, 1000, 2 * SLICE_ITEMS + 7), 2);
    CHECK(p.printed == 2 * SLICE_ITEMS + 7 && p.more);
    CHECK_EQ_UINT(print_all(&p, 1000, 2 * SLICE_ITEMS), 1);
    CHECK(p.printed == 2 * SLICE_ITEMS && p.more);
}

static void methods_have_names(void)
{
    for (int m = 0; m < HTTP_OTHER; m++)
        CHECK_EQ_INT(http_method_parse(str_of(http_method_name((enum http_method)m))), m);
    CHECK_EQ_INT(http_method_parse(STR("get")), HTTP_OTHER);
}

static void a_problem_is_json_whatever_its_detail(void)
{
    struct buf body = {0};
    struct json_writer w;
    http_begin_problem(&w, &body, 404, STR("no \"x\\y\" here"));
    json_end_object(&w);
    CHECK_STR(body, "{\"type\":\"about:blank\",\"title\":\"Not Found\",\"status\":404,"
                    "\"detail\":\"no \\\"x\\\\y\\\" here\"}");
    buf_free(&body);
}

static void a_list_of_the_audit_log_goes_on_behind_an_entry(void)
{
    char below[AUDIT_KEY_BYTES];
    struct str earlier = STR("00000000012c0000abcd"), later = STR("00000000ffff00000000");
    CHECK(audit_is_id(earlier) && !audit_is_id(STR("00000000012c")) &&
          !audit_is_id(STR("00000000012c0000abcx")));
    for (uint32_t account_no = 0; account_no < 2; account_no++) {
        audit_key(below, account_no, 1000);
        audit_key_after(below, later);
        CHECK_STR(audit_id_of_key(str_of(below)), "0000000003e8");
        audit_key_after(below, earlier);
        CHECK_STR(audit_id_of_key(str_of(below)), "00000000012c0000abcd");
    }
    CHECK_STR(str_of(below), "p00000001/00000000012c0000abcd");
}

int main(void)
{
    RUN(others_have_their_turn_between_slices);
    RUN(headers_are_shown_by_name_and_bounded);
    RUN(cursors_come_back_and_are_bound_to_their_account);
    RUN(cursors_of_the_feed_say_when_their_event_was_accepted);
    RUN(cursors_of_days_come_back_and_are_bound_to_their_account);
    RUN(decodes_percent_strictly);
    RUN(limits_each_key_by_itself);
    RUN(refills_a_limit_evenly);
    RUN(finds_routes_and_tells_404_from_405);
    RUN(every_route_says_who_may_use_it);
    RUN(methods_have_names);
    RUN(a_problem_is_json_whatever_its_detail);
    RUN(a_list_of_the_audit_log_goes_on_behind_an_entry);
    return check_done("api_parts");
}
