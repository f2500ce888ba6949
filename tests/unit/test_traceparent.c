/* Which traceparents are taken, and that what was packed is printed again byte for byte. */
#include "domain/traceparent.h"

#include "base/arena.h"

#include "check.h"

#include <stdio.h>

#define TRACE_ID "0af7651916cd43dd8448eb211c80319c"
#define GOOD "00-" TRACE_ID "-b7ad6b7169203331-01"

static struct arena arena;

static void check_same(const char *text)
{
    char unpacked[TRACEPARENT_BYTES + 1] = "";
    struct str packed = traceparent_pack(str_of(text), &arena);
    REQUIRE(packed.n == TRACEPARENT_PACKED_BYTES);
    CHECK(traceparent_unpack(packed.p, unpacked));
    CHECK_STR(str_of(unpacked), text);
    for (size_t i = 0; i < packed.n; i++) /* in a JSON string as it is, and in UTF-8 */
        CHECK(packed.p[i] > 0x20 && packed.p[i] < 0x7f && packed.p[i] != '"' &&
              packed.p[i] != '\\');
    arena_free(&arena);
}

static void packed_and_printed_again(void)
{
    check_same(GOOD);
    check_same("00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-ff");
    check_same("00-00000000000000000000000000000001-0000000000000001-00");
    check_same("00-80000000000000000000000000000000-8000000000000000-80");
    uint64_t bits = 1;
    for (int i = 0; i < 1000; i++) {
        char text[TRACEPARENT_BYTES + 1];
        uint64_t v[3];
        for (size_t k = 0; k < 3; k++)
            v[k] = bits = bits * 6364136223846793005u + 1442695040888963407u;
        snprintf(text, sizeof text, "00-%016llx%016llx-%016llx-%02x", (unsigned long long)v[0],
                 (unsigned long long)v[1], (unsigned long long)v[2], (unsigned)(i & 255));
        check_same(text);
    }
}

static void only_what_is_valid_is_taken(void)
{
    static const char *const wrong[] = {
        "",
        "00",
        GOOD "-more",
        GOOD "0",
        "ff-" TRACE_ID "-b7ad6b7169203331-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-" TRACE_ID "-0000000000000000-01",
        "00-" TRACE_ID "-b7ad6b7169203331-0",
        "00-" TRACE_ID "-b7ad6b7169203331-0x",
        "00_" TRACE_ID "-b7ad6b7169203331-01",
        "0x-" TRACE_ID "-b7ad6b7169203331-01",
        "cc-" TRACE_ID "-b7ad6b7169203331-01x",
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        CHECK(traceparent_trace_id(str_of(wrong[i])).p == NULL);
        CHECK(traceparent_pack(str_of(wrong[i]), &arena).p == NULL);
    }
    CHECK(traceparent_trace_id(STR_NONE).p == NULL);
    CHECK(traceparent_pack(STR_NONE, &arena).p == NULL);
    CHECK_STR(traceparent_trace_id(STR(GOOD)), TRACE_ID);
    /* of a later version only the trace id is known */
    CHECK_STR(traceparent_trace_id(STR("cc-" TRACE_ID "-b7ad6b7169203331-01-x")), TRACE_ID);
    CHECK(traceparent_pack(STR("cc-" TRACE_ID "-b7ad6b7169203331-01"), &arena).p == NULL);
}

static void nothing_packed_is_nothing(void)
{
    static const char *const other[] = {
        "00000000000000000000000000000000", /* a body without one */
        "c5e0deac92ef90f08c1cede219ea845\"",
        "####################000000000000", /* numbers above 32 bits */
        "11111111111111111111111111111 11",
        "111111111111111111111111111111zz", /* no flags */
    };
    char text[TRACEPARENT_BYTES + 1];
    for (size_t i = 0; i < ARRAY_LEN(other); i++)
        CHECK(!traceparent_unpack(other[i], text));
}

int main(void)
{
    RUN(packed_and_printed_again);
    RUN(only_what_is_valid_is_taken);
    RUN(nothing_packed_is_nothing);
    return check_done("traceparent");
}
