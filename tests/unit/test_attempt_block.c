/*
 * Blocks of attempts: whatever goes in comes out byte for byte, in little room where it says what
 * others said; erased texts are gone and the others untouched; damaged bytes are read without harm.
 */
#include "base/alloc.h"
#include "base/env.h"
#include "check.h"
#include "store/sqlite/attempt_block.h"

#include <stdio.h>
#include <stdlib.h>

#define FIRST_ID ((UINT64_C(7) << 40) | 640)

static const struct attempt_facts facts = {STR("ev-1.x"), 1763726400123};
static const struct attempt_facts unknown = {{NULL, 0}, 0};

static const struct attempt usual = {
    .number = 3,
    .at_ms = 1763726401999,
    .duration_ms = 12,
    .status = 200,
    .class = ATTEMPT_OK,
    .url = STR("https://partner.example/callback"),
    .detail = STR(""),
    .request_headers =
        STR("Host: partner.example\nUser-Agent: postbackd/0.1.0\nContent-Type: application/json\n"
            "Accept-Encoding: identity\nwebhook-id: ev-1.x\nwebhook-timestamp: 1763726401\n"
            "webhook-signature: v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=\n"
            "Postbackd-Attempt: 3\nPostbackd-Event-Time: 2025-11-21T12:00:00.123Z\n"
            "Content-Length: 313\n"),
    .response_headers = STR("Server: nginx\nDate: Fri, 21 Nov 2025 12:00:02 GMT\n"
                            "Content-Type: text/plain\nContent-Length: 2\n"),
    .response_body = STR("ok"),
};

/* --- helpers */

static struct attempt found[256];
static size_t found_count;

static void find(void *context, const struct attempt *a)
{
    (void)context;
    if (found_count < ARRAY_LEN(found))
        found[found_count++] = *a;
}

static void read_all(struct str block, uint64_t id, const struct attempt_facts *of,
                     struct arena *arena)
{
    found_count = 0;
    attempt_block_read(block, id, of, arena, find, NULL);
}

static bool same(const struct attempt *a, const struct attempt *b)
{
    return a->number == b->number && a->manual == b->manual && a->at_ms == b->at_ms &&
           a->duration_ms == b->duration_ms && a->status == b->status && a->class == b->class &&
           str_eq(a->url, b->url) && str_eq(a->detail, b->detail) &&
           str_eq(a->request_headers, b->request_headers) &&
           str_eq(a->response_headers, b->response_headers) &&
           str_eq(a->response_body, b->response_body);
}

static struct attempt_chunk *chunk_of(const struct attempt *a, const struct attempt_facts *of)
{
    struct attempt_chunk *c = xcalloc(1, sizeof *c);
    attempt_chunk_begin(c);
    attempt_chunk_add(c, FIRST_ID, a, of);
    attempt_chunk_end(c);
    return c;
}

static void chunk_free(struct attempt_chunk *c)
{
    buf_free(&c->texts.out);
    free(c);
}

/* Whether an attempt comes back as it was; *ret_bytes is what it took. */
static bool comes_back(const struct attempt *a, const struct attempt_facts *of, size_t *ret_bytes)
{
    struct arena arena = {0};
    struct attempt_chunk *c = chunk_of(a, of);
    read_all(buf_str(&c->texts.out), FIRST_ID, of, &arena);
    bool good = found_count == 1 && same(&found[0], a);
    *ret_bytes = c->texts.out.n;
    arena_free(&arena);
    chunk_free(c);
    return good;
}

/* --- tests */

static void gives_back_what_was_said(void)
{
    size_t with_facts, without;
    CHECK(comes_back(&usual, &facts, &with_facts));
    CHECK(comes_back(&usual, &unknown, &without));
    CHECK(with_facts < without);
    struct attempt empty = {.at_ms = -1, .duration_ms = INT32_MIN, .number = INT32_MAX};
    CHECK(comes_back(&empty, &facts, &without));
}

/* Lines that look like those told by facts, and are not. */
static void near_misses_are_kept_as_they_are(void)
{
    static const char *const lines[] = {
        "webhook-id: ev-1.y\n",
        "webhook-id: ev-1.x",
        "webhook-id: \n",
        "webhook-id:ev-1.x\n",
        "Webhook-Id: ev-1.x\n",
        "webhook-timestamp: 01763726401\n",
        "webhook-timestamp: -1\n",
        "webhook-timestamp: 9999999999999\n",
        "webhook-timestamp: 999999999999\n",
        "webhook-timestamp: 1763726402\n",
        "webhook-timestamp: \n",
        "webhook-signature: v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI5=\n",
        "webhook-signature: v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/p*4=\n",
        "webhook-signature: v2,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=\n",
        ("webhook-signature: v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4= "
         "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=\n"),
        "Postbackd-Attempt: 03\n",
        "Postbackd-Attempt: 4\n",
        "Postbackd-Event-Time: 2025-11-21T12:00:00.124Z\n",
        "Date: Sat, 21 Nov 2025 12:00:02 GMT\n",
        "Date: Friday, 21-Nov-25 12:00:02 GMT\n",
        "Date: Wed, 31 Dec 1969 23:59:59 GMT\n",
        "Date: never\n",
        "Date: \n",
        "Date: GMT\n",
        "Dato: Fri, 21 Nov 2025 12:00:02 GMT\n",
        "webhook-ix: ev-1.x\n",
        "webhook-i",
        "Postbackd-A\n",
        "webhook-signature: v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI5=\n",
        "webhook-signature: v1,K5oZfzN95Z9UVu1EsfQ!fVNQhnkZ2pj9o9NDN/H/pI4=\n",
        "D\n",
        "\n\nw\n",
        "Pragma: x\nwarning: y\nno end",
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct attempt a = usual;
        size_t bytes;
        a.request_headers = str_of(lines[i]);
        a.response_headers = str_of(lines[i]);
        CHECK(comes_back(&a, &facts, &bytes));
    }
}

/* Dates are remembered by the last digit of their seconds. */
static void dates_come_mixed(void)
{
    struct attempt_chunk *c = xcalloc(1, sizeof *c);
    char texts[ATTEMPT_BLOCK_IDS][48];
    attempt_chunk_begin(c);
    for (unsigned i = 0; i < ATTEMPT_BLOCK_IDS; i++) {
        struct attempt a = usual;
        snprintf(texts[i], sizeof texts[i], "Date: Fri, 21 Nov 2025 12:00:%02u GMT\n", i * 7 % 60);
        a.response_headers = str_of(texts[i]);
        attempt_chunk_add(c, FIRST_ID + i, &a, &facts);
    }
    attempt_chunk_end(c);
    struct arena arena = {0};
    for (unsigned i = 0; i < ATTEMPT_BLOCK_IDS; i++) {
        read_all(buf_str(&c->texts.out), FIRST_ID + i, &facts, &arena);
        CHECK(found_count == 1 && str_eq(found[0].response_headers, str_of(texts[i])));
    }
    arena_free(&arena);
    chunk_free(c);
}

static void what_repeats_takes_little_room(void)
{
    struct attempt_chunk *c = xcalloc(1, sizeof *c);
    attempt_chunk_begin(c);
    attempt_chunk_add(c, FIRST_ID, &usual, &facts);
    size_t first = c->texts.out.n;
    for (unsigned i = 1; i < ATTEMPT_BLOCK_IDS; i++)
        attempt_chunk_add(c, FIRST_ID + i, &usual, &facts);
    attempt_chunk_end(c);
    /* 32 bytes of each are the signature */
    CHECK((c->texts.out.n - first) / (ATTEMPT_BLOCK_IDS - 1) < 64);
    struct arena arena = {0};
    for (unsigned i = 0; i < ATTEMPT_BLOCK_IDS; i++) {
        read_all(buf_str(&c->texts.out), FIRST_ID + i, &facts, &arena);
        CHECK(found_count == 1 && same(&found[0], &usual));
    }
    arena_free(&arena);
    chunk_free(c);
}

/* More distinct texts than a chunk remembers, over chunks one behind the other. */
static void many_texts_and_chunks(void)
{
    struct attempt_chunk *c = xcalloc(1, sizeof *c);
    struct arena arena = {0};
    char texts[200][24];
    for (unsigned i = 0; i < 200; i++)
        snprintf(texts[i], sizeof texts[i], "body %u %u", i * 7919u, i);
    for (unsigned half = 0; half < 2; half++) {
        attempt_chunk_begin(c);
        for (unsigned i = 0; i < 200; i++) {
            struct attempt a = usual;
            a.number = (int32_t)(half * 200 + i);
            a.detail = str_of(texts[(i * 31) % 200]);
            a.response_body = str_of(texts[i]);
            attempt_chunk_add(c, FIRST_ID + i % 2, &a, &facts);
        }
        attempt_chunk_end(c);
    }
    for (unsigned odd = 0; odd < 2; odd++) {
        read_all(buf_str(&c->texts.out), FIRST_ID + odd, &facts, &arena);
        REQUIRE(found_count == 200);
        for (unsigned i = 0; i < 200; i++) {
            unsigned at = i % 100 * 2 + odd;
            CHECK_EQ_INT(found[i].number, (int32_t)(i / 100 * 200 + at));
            CHECK_STR(found[i].response_body, texts[at]);
            CHECK_STR(found[i].detail, texts[(at * 31) % 200]);
        }
    }
    arena_free(&arena);
    chunk_free(c);
}

static void erased_texts_are_gone(void)
{
    struct attempt_chunk *c = xcalloc(1, sizeof *c), *erased = xcalloc(1, sizeof *erased);
    struct arena arena = {0};
    struct attempt secret = usual;
    secret.response_body = STR("it was nobody-else");
    for (unsigned i = 0; i < 2; i++) {
        attempt_chunk_begin(c);
        attempt_chunk_add(c, FIRST_ID, &secret, &facts);
        attempt_chunk_add(c, FIRST_ID + 1, &usual, &facts);
        attempt_chunk_end(c);
    }
    attempt_block_erase(buf_str(&c->texts.out), FIRST_ID, erased);
    CHECK(memmem(c->texts.out.p, c->texts.out.n, "nobody", 6) != NULL);
    CHECK(memmem(erased->texts.out.p, erased->texts.out.n, "nobody", 6) == NULL);
    read_all(buf_str(&erased->texts.out), FIRST_ID, &facts, &arena);
    CHECK_EQ_UINT(found_count, 2);
    for (size_t i = 0; i < found_count; i++) {
        CHECK(!found[i].request_headers.p && !found[i].response_headers.p);
        CHECK(!found[i].response_body.p);
        CHECK_EQ_INT(found[i].at_ms, usual.at_ms);
        CHECK(str_eq(found[i].url, usual.url));
    }
    read_all(buf_str(&erased->texts.out), FIRST_ID + 1, &facts, &arena);
    CHECK_EQ_UINT(found_count, 2);
    for (size_t i = 0; i < found_count; i++)
        CHECK(same(&found[i], &usual));
    arena_free(&arena);
    chunk_free(c);
    chunk_free(erased);
}

/* Every cut and many changed bytes; the sanitizers and a memory of its own size watch. */
static void damaged_bytes_do_no_harm(void)
{
    struct attempt_chunk *c = chunk_of(&usual, &facts), *erased = xcalloc(1, sizeof *erased);
    attempt_chunk_begin(c);
    attempt_chunk_add(c, FIRST_ID, &usual, &facts);
    attempt_chunk_end(c);
    size_t whole = 0, all = c->texts.out.n;
    REQUIRE(all > 0);
    for (size_t i = 0; i < all * 16; i++) {
        struct arena arena = {0};
        size_t n = i < all ? i : all;
        char *copy = xmalloc(n + 1);
        memcpy(copy, c->texts.out.p, n);
        if (i >= all)
            copy[i % n] = (char)(copy[i % n] ^ (1 << (i / n % 8)) ^ (i / n > 8 ? 0x55 : 0));
        read_all((struct str){copy, n}, FIRST_ID, &facts, &arena);
        whole += found_count == 2;
        attempt_block_erase((struct str){copy, n}, FIRST_ID, erased);
        arena_free(&arena);
        free(copy);
    }
    CHECK(whole > 0);
    chunk_free(c);
    chunk_free(erased);
}

struct of_all {
    unsigned lows[8];
    struct attempt attempts[8];
    size_t count;
};

static void keep_one(void *context, unsigned low, const struct attempt *a)
{
    struct of_all *all = context;
    REQUIRE(all->count < ARRAY_LEN(all->lows));
    all->lows[all->count] = low;
    all->attempts[all->count++] = *a;
}

static void a_whole_block_is_read_at_once(void)
{
    struct attempt_chunk *c = xcalloc(1, sizeof *c);
    struct attempt_facts each[ATTEMPT_BLOCK_IDS] = {0};
    struct attempt later = usual;
    struct of_all all = {.count = 0};
    struct arena arena = {0};
    later.number = 4;
    later.url = STR("https://elsewhere.example/");
    attempt_chunk_begin(c);
    attempt_chunk_add(c, FIRST_ID, &usual, &facts);
    attempt_chunk_add(c, FIRST_ID + 5, &later, &unknown);
    attempt_chunk_add(c, FIRST_ID + 63, &usual, &facts);
    attempt_chunk_end(c);
    each[FIRST_ID % ATTEMPT_BLOCK_IDS] = each[(FIRST_ID + 63) % ATTEMPT_BLOCK_IDS] = facts;
    attempt_block_read_all(buf_str(&c->texts.out), each, &arena, keep_one, &all);
    REQUIRE(all.count == 3);
    CHECK_EQ_INT(all.lows[0], FIRST_ID % ATTEMPT_BLOCK_IDS);
    CHECK_EQ_INT(all.lows[1], (FIRST_ID + 5) % ATTEMPT_BLOCK_IDS);
    CHECK_EQ_INT(all.lows[2], (FIRST_ID + 63) % ATTEMPT_BLOCK_IDS);
    CHECK(same(&all.attempts[0], &usual));
    CHECK(same(&all.attempts[1], &later));
    CHECK(same(&all.attempts[2], &usual));
    arena_free(&arena);
    chunk_free(c);
}

int main(void)
{
    RUN(a_whole_block_is_read_at_once);
    RUN(gives_back_what_was_said);
    RUN(near_misses_are_kept_as_they_are);
    RUN(dates_come_mixed);
    RUN(what_repeats_takes_little_room);
    RUN(many_texts_and_chunks);
    RUN(erased_texts_are_gone);
    RUN(damaged_bytes_do_no_harm);
    return check_done("attempt_block");
}
