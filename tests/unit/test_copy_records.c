/*
 * Positions of a copy, as its target keeps them: read again as they were written, and nothing else
 * is taken for one; and what is compared tells every member apart.
 */
#include "check.h"
#include "store/copy/copy_records.h"

#include <stdlib.h>

static struct copy_position printed(const struct copy_position *at, bool *ret_good)
{
    struct buf text = {0};
    struct copy_position found = {0};
    copy_position_print(at, &text);
    *ret_good = copy_position_parse(buf_str(&text), &found);
    buf_free(&text);
    return found;
}

static void positions_are_read_as_written(void)
{
    const struct copy_position places[] = {
        {.section = COPY_OBJECTS},
        {.section = COPY_OBJECTS, .n = {10}, .id_bytes = 9, .id = "a b:c d-1"},
        {.section = COPY_EVENTS, .n = {-3, 7, INT64_C(1) << 40}},
        {.section = COPY_BOOKS, .n = {1, INT32_MIN, 3, 2, 1, 5}},
        {.section = COPY_SECTION_END},
    };
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        bool good;
        struct copy_position found = printed(&places[i], &good);
        REQUIRE(good);
        CHECK_EQ_INT(found.section, places[i].section);
        CHECK(memcmp(found.n, places[i].n, sizeof found.n) == 0);
        CHECK(found.id_bytes == places[i].id_bytes);
        CHECK(memcmp(found.id, places[i].id, found.id_bytes) == 0);
    }
}

static void what_is_no_position_is_refused(void)
{
    static const char *const texts[] = {"",
                                        "2",
                                        "2 1 2 3",
                                        "0 0 0 0 0 0 0 ",
                                        "6 0 0 0 0 0 0 ",
                                        "2 x 0 0 0 0 0 ",
                                        "2 0 0 0 0 0 0",
                                        "2 11111111111111111111111111 0 0 0 0 0 "};
    struct copy_position found;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        CHECK(!copy_position_parse(str_of(texts[i]), &found));
}

static bool same_bytes(const struct copied_event *a, const struct copied_event *b)
{
    struct copied_event events[2] = {*a, *b};
    struct copy_chunk c = {.section = COPY_EVENTS, .count = 2, .events = events};
    struct buf bytes[2] = {{0}};
    for (size_t i = 0; i < 2; i++)
        copy_encode(&c, i, &bytes[i]);
    bool same = bytes[0].n == bytes[1].n && memcmp(bytes[0].p, bytes[1].p, bytes[0].n) == 0;
    buf_free(&bytes[0]);
    buf_free(&bytes[1]);
    return same;
}

static void every_difference_shows(void)
{
    struct attempt attempt = {.number = 1, .response_body = STR("")};
    struct copied_event was = {.event = {.account_no = 1, .event_no = 2, .event_id = STR("e")},
                               .log = &attempt,
                               .log_count = 1};
    struct copied_event now = was;
    CHECK(same_bytes(&was, &now));
    now.event.session_id = STR(""); /* an empty value is not an absent one */
    CHECK(!same_bytes(&was, &now));
    now = was;
    now.event.content = 1;
    CHECK(!same_bytes(&was, &now));
    now = was;
    now.counted = 2;
    CHECK(!same_bytes(&was, &now));
    now = was;
    now.life.place.due_ms = -1;
    CHECK(!same_bytes(&was, &now));
    struct attempt other = attempt;
    other.response_body = STR_NONE;
    now = was;
    now.log = &other;
    CHECK(!same_bytes(&was, &now));
    now.log_count = 0;
    CHECK(!same_bytes(&was, &now));
}

int main(void)
{
    RUN(positions_are_read_as_written);
    RUN(what_is_no_position_is_refused);
    RUN(every_difference_shows);
    return check_done("copy_records");
}
