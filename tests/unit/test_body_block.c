/*
 * Blocks of bodies: each is found by its event, an erased one is gone and the others stay, damaged
 * bytes are read without harm.
 */
#include "base/alloc.h"
#include "check.h"
#include "store/sqlite/body_block.h"

#include <stdlib.h>

#define FIRST_ID ((UINT64_C(7) << 40) | 160)

static void fill(struct buf *to)
{
    char text[600];
    for (unsigned i = 0; i < BODY_BLOCK_IDS; i++) {
        memset(text, 'a' + (int)i, sizeof text);
        if (i != 3)
            body_block_add(to, FIRST_ID + i, (struct str){text, i * 37});
    }
}

static bool is_body(struct str body, unsigned i)
{
    bool same = body.p && body.n == i * 37;
    for (size_t at = 0; same && at < body.n; at++)
        same = body.p[at] == 'a' + (char)i;
    return same;
}

static void finds_each(void)
{
    struct buf block = {0};
    fill(&block);
    for (unsigned i = 0; i < BODY_BLOCK_IDS; i++) {
        struct str body = body_block_find(buf_str(&block), FIRST_ID + i);
        CHECK(i == 3 ? !body.p : is_body(body, i));
    }
    CHECK(!body_block_find((struct str){"", 0}, FIRST_ID).p);
    buf_free(&block);
}

static void erases_one(void)
{
    struct buf block = {0}, erased = {0};
    fill(&block);
    body_block_erase(buf_str(&block), FIRST_ID + 7, &erased);
    CHECK(erased.n < block.n && !memchr(erased.p, 'a' + 7, erased.n));
    for (unsigned i = 0; i < BODY_BLOCK_IDS; i++) {
        struct str body = body_block_find(buf_str(&erased), FIRST_ID + i);
        CHECK(i == 3 || i == 7 ? !body.p : is_body(body, i));
    }
    buf_free(&block);
    buf_free(&erased);
}

static void damaged_bytes_do_no_harm(void)
{
    struct buf block = {0}, erased = {0};
    fill(&block);
    for (size_t n = 0; n <= block.n; n++) {
        char *cut = xmalloc(n + 1); /* of its own size, for the sanitizers */
        memcpy(cut, block.p, n);
        if (n > 0)
            cut[n * 7919 / 64 % n] = (char)0xff;
        struct str body = body_block_find((struct str){cut, n}, FIRST_ID + n % BODY_BLOCK_IDS);
        CHECK(!body.p || (body.p >= cut && body.p + body.n <= cut + n));
        buf_clear(&erased);
        body_block_erase((struct str){cut, n}, FIRST_ID, &erased);
        free(cut);
    }
    buf_free(&block);
    buf_free(&erased);
}

int main(void)
{
    RUN(finds_each);
    RUN(erases_one);
    RUN(damaged_bytes_do_no_harm);
    return check_done("body_block");
}
