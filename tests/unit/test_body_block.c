/* Blocks of bodies: each is found by its event, an erased one is gone and the others stay, damaged
 * bytes are told. */
#include "base/alloc.h"
#include "base/env.h"
#include "check.h"
#include "store/sqlite/body_block.h"

#include <stdio.h>
#include <stdlib.h>

#define FIRST_ID ((UINT64_C(7) << 40) | 160)
#define MISSING 3

static struct body_packer packer;
static struct body_block bodies;

/* As callbacks are: each repeats most of the one before. Some are empty or long. */
static size_t print_body(unsigned i, char text[2000])
{
    int n = snprintf(text, 2000,
                     "{\"Sig\":\"%032d\",\"RewardId\":\"%08x\",\"PanelistId\":\"panelist-%u\"}", 0,
                     i * 2654435761u, i * 7919);
    if (i == 5)
        n = 0;
    if (i == 6)
        memset(text + n, 'x', 1500);
    return (size_t)n + (i == 6 ? 1500 : 0);
}

static void add(unsigned i)
{
    char text[2000];
    size_t n = print_body(i, text);
    body_packer_add(&packer, FIRST_ID + i, (struct str){text, n});
}

/* Chunks of `each` bodies. */
static void fill(struct buf *to, unsigned each)
{
    for (unsigned i = 0; i < BODY_BLOCK_IDS; i++) {
        if (i != MISSING)
            add(i);
        if (i % each == each - 1 || i == BODY_BLOCK_IDS - 1)
            buf_add_str(to, body_packer_end(&packer));
    }
}

static bool is_body(struct str body, unsigned i)
{
    char text[2000];
    return body.p && str_eq(body, (struct str){text, print_body(i, text)});
}

static void check_all_but(unsigned erased)
{
    for (unsigned i = 0; i < BODY_BLOCK_IDS; i++) {
        if (i == MISSING || i == erased)
            CHECK(!bodies.of[i].p);
        else
            CHECK(is_body(bodies.of[i], i));
    }
}

static void finds_each(void)
{
    for (unsigned each = 1; each <= BODY_BLOCK_IDS; each++) {
        struct buf block = {0};
        fill(&block, each);
        CHECK(body_block_read(&bodies, buf_str(&block)));
        check_all_but(MISSING);
        buf_free(&block);
    }
    CHECK(body_block_read(&bodies, (struct str){"", 0}));
    CHECK(!bodies.of[0].p);
    CHECK_EQ_UINT(body_packer_end(&packer).n, 0);
}

static void what_repeats_takes_little(void)
{
    char text[2000];
    size_t plain = 0;
    struct buf block = {0};
    fill(&block, BODY_BLOCK_IDS);
    for (unsigned i = 0; i < BODY_BLOCK_IDS; i++)
        plain += i == MISSING ? 0 : print_body(i, text);
    CHECK(block.n < plain / 4);
    buf_free(&block);
}

static void erases_one(void)
{
    for (unsigned erased = 0; erased < BODY_BLOCK_IDS; erased++) {
        struct buf block = {0};
        fill(&block, 5);
        CHECK(body_block_read(&bodies, buf_str(&block)));
        body_block_erase(&bodies, FIRST_ID + erased, &packer);
        CHECK(body_block_read(&bodies, body_packer_end(&packer)));
        check_all_but(erased);
        buf_free(&block);
    }
}

/* No text of an erased body stays in what is written, packed or not. */
static void an_erased_body_leaves_nothing(void)
{
    struct buf block = {0};
    fill(&block, BODY_BLOCK_IDS);
    char own[9];
    (void)snprintf(own, sizeof own, "%08x", 6 * 2654435761u);
    CHECK(memmem(block.p, block.n, own, 8) != NULL);
    CHECK(body_block_read(&bodies, buf_str(&block)));
    body_block_erase(&bodies, FIRST_ID + 6, &packer);
    struct str others = body_packer_end(&packer);
    CHECK(!memmem(others.p, others.n, own, 8));
    buf_free(&block);
    for (unsigned i = 0; i < 2; i++)
        body_packer_add(&packer, FIRST_ID + i, i == 0 ? STR("somebody") : STR("another"));
    CHECK(body_block_read(&bodies, body_packer_end(&packer)));
    body_block_erase(&bodies, FIRST_ID, &packer);
    struct str rest = body_packer_end(&packer);
    CHECK(!memmem(rest.p, rest.n, "some", 4));
    CHECK(memmem(rest.p, rest.n, "another", 7) != NULL);
    CHECK(body_block_read(&bodies, rest));
    body_block_erase(&bodies, FIRST_ID + 1, &packer);
    CHECK_EQ_UINT(body_packer_end(&packer).n, 0);
}

/* A body is signed and sent: none may come out changed. Some bits change nothing: LZ4 may copy a
 * text from either of two equal ones. */
static void no_wrong_bit_changes_a_body(void)
{
    struct buf block = {0};
    fill(&block, 6);
    size_t told = 0;
    for (size_t bit = 0; bit < block.n * 8; bit++) {
        block.p[bit / 8] ^= (char)(1 << bit % 8);
        if (body_block_read(&bodies, buf_str(&block)))
            check_all_but(MISSING);
        else
            told++;
        block.p[bit / 8] ^= (char)(1 << bit % 8);
    }
    CHECK(told > block.n * 7);
    CHECK(body_block_read(&bodies, buf_str(&block)));
    buf_free(&block);
}

static void read_copy(struct str bytes)
{
    char *copy = xmalloc(bytes.n + 1); /* of its own size, for the sanitizers */
    memcpy(copy, bytes.p, bytes.n);
    if (body_block_read(&bodies, (struct str){copy, bytes.n}))
        for (unsigned i = 0; i < BODY_BLOCK_IDS; i++)
            CHECK(bodies.of[i].n <= bodies.plain.n);
    free(copy);
}

static void damaged_bytes_do_no_harm(void)
{
    struct rng rng;
    rng_seed(&rng, 1);
    struct buf block = {0};
    fill(&block, 6);
    for (size_t n = 0; n <= block.n; n++)
        read_copy((struct str){block.p, n});
    CHECK(!body_block_read(&bodies, (struct str){block.p, block.n - 1}));
    for (int times = 0; times < 20000; times++) {
        size_t at = rng_next(&rng) % block.n;
        char before = block.p[at];
        block.p[at] = (char)rng_next(&rng);
        read_copy(buf_str(&block));
        block.p[at] = before;
    }
    /* lengths that no memory has */
    CHECK(!body_block_read(&bodies, STR("\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x04zzzz")));
    CHECK(!body_block_read(&bodies, STR("\xff\xff\xff\x7f\x04zzzz")));
    CHECK(!body_block_read(&bodies, STR("\x03")));
    CHECK(!body_block_read(&bodies, STR("\0\0\0\0\0\0")));     /* nothing, with its sum */
    CHECK(!body_block_read(&bodies, STR("\x02\x00\x10\x00"))); /* an event of another block */
    buf_free(&block);
}

int main(void)
{
    RUN(finds_each);
    RUN(what_repeats_takes_little);
    RUN(erases_one);
    RUN(an_erased_body_leaves_nothing);
    RUN(no_wrong_bit_changes_a_body);
    RUN(damaged_bytes_do_no_harm);
    body_packer_free(&packer);
    body_block_free(&bodies);
    return check_done("body_block");
}
