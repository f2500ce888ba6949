/*
 * Arenas: every allocation is aligned, its own, and stays where it is until the arena goes.
 */
#include "check.h"

#include "base/arena.h"
#include "base/buf.h"

#include <stdint.h>

static void allocations_are_aligned_and_apart(void)
{
    struct arena a = {0};
    char *was[200];
    for (size_t i = 0; i < 200; i++) {
        was[i] = arena_alloc(&a, i * 37);
        CHECK_EQ_UINT((uintptr_t)was[i] % 16, 0);
        memset(was[i], (int)i, i * 37);
    }
    for (size_t i = 0; i < 200; i++)
        for (size_t at = 0; at < i * 37; at++)
            if (was[i][at] != (char)i)
                CHECK_EQ_INT(was[i][at], (char)i);
    arena_free(&a);
    CHECK(a.chunks == NULL);
    CHECK_EQ_UINT(a.total_bytes, 0);
}

static void nothing_is_a_place_too(void)
{
    struct arena a = {0};
    void *first = arena_alloc(&a, 0), *second = arena_alloc(&a, 0);
    CHECK(first != NULL);
    CHECK(first != second);
    arena_free(&a);
}

static void zalloc_is_zero_where_others_wrote(void)
{
    struct arena a = {0};
    memset(arena_alloc(&a, 3000), 0xff, 3000);
    char *p = arena_zalloc(&a, 1000), zeroes[1000] = {0};
    CHECK_BYTES(p, 1000, zeroes, 1000);
    arena_free(&a);
}

static void copies_end_with_nul_and_absent_stays_absent(void)
{
    struct arena a = {0};
    char source[] = "abc";
    struct str copy = arena_str(&a, (struct str){source, 2});
    source[0] = 'x';
    CHECK_STR(copy, "ab");
    CHECK_EQ_INT(copy.p[2], '\0');
    CHECK(arena_str(&a, STR_NONE).p == NULL);
    struct str empty = arena_str(&a, STR(""));
    CHECK(empty.p != NULL);
    CHECK_EQ_UINT(empty.n, 0);
    arena_free(&a);
}

static void buffers_are_taken_and_texts_printed(void)
{
    struct arena a = {0};
    struct buf b = {0};
    buf_add_c(&b, "bytes");
    struct str taken = arena_take(&a, &b);
    CHECK_STR(taken, "bytes");
    CHECK_EQ_INT(taken.p[5], '\0');
    CHECK(b.p == NULL);
    struct str printed = arena_print(&a, "%s and %d", "text", 12);
    CHECK_STR(printed, "text and 12");
    CHECK_EQ_INT(printed.p[11], '\0');
    struct str empty = arena_print(&a, "%s", "");
    CHECK(empty.p != NULL);
    CHECK_EQ_UINT(empty.n, 0);
    arena_free(&a);
}

static void reset_gives_the_memory_again(void)
{
    struct arena a = {0};
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 3000; i++) {
            char *p = arena_alloc(&a, 1000);
            memset(p, i, 1000);
        }
        char *large = arena_alloc(&a, 100000);
        memset(large, 1, 100000);
        CHECK(a.total_bytes >= 3100000);
        arena_reset(&a);
        CHECK_EQ_UINT(a.total_bytes, 0);
        CHECK(a.chunks == NULL);
    }
    arena_free(&a);
    CHECK(a.spare == NULL);
}

static void absurd_sizes_are_a_programmers_error(void)
{
    struct arena a = {0};
    CHECK_ABORTS((void)arena_alloc(&a, SIZE_MAX - 3));
}

int main(void)
{
    RUN(allocations_are_aligned_and_apart);
    RUN(nothing_is_a_place_too);
    RUN(zalloc_is_zero_where_others_wrote);
    RUN(copies_end_with_nul_and_absent_stays_absent);
    RUN(buffers_are_taken_and_texts_printed);
    RUN(reset_gives_the_memory_again);
    RUN(absurd_sizes_are_a_programmers_error);
    return check_done("arena");
}
