/* What an attempt sent and got, packed: it comes back byte for byte, in little room, without other
 * texts of the attempt; damaged bytes are told and do no harm. */
#include "base/alloc.h"
#include "check.h"
#include "store/packed/attempt_texts.h"

#include <stdlib.h>

static struct attempt_packer packer;
static struct arena arena;

static const struct attempt_facts facts = {STR("ev-1.x"), 1763726400123};
static const struct attempt_facts unknown = {{NULL, 0}, 0};

static const struct attempt usual = {
    .number = 3,
    .at_ms = 1763726401999,
    .request_headers =
        STR("Host: partner.example\nUser-Agent: postbackd/0.1.0\nContent-Type: application/json\n"
            "Accept-Encoding: identity\nwebhook-id: ev-1.x\nwebhook-timestamp: 1763726401\n"
            "webhook-signature: v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=\n"
            "Postbackd-Attempt: 3\nPostbackd-Event-Time: 2025-11-21T12:00:00.123Z\n"
            "Content-Length: 237\n"),
    .response_headers =
        STR("Server: nginx/1.22.1\nDate: Fri, 21 Nov 2025 12:00:02 GMT\n"
            "Content-Type: text/plain\nContent-Length: 2\nConnection: keep-alive\n"),
    .response_body = STR("ok"),
};

static bool comes_back(const struct attempt *a, const struct attempt_facts *of)
{
    struct attempt got = {.number = a->number, .at_ms = a->at_ms};
    return attempt_texts_read(attempt_texts_pack(&packer, a, of), of, &arena, &got) &&
           str_eq(got.request_headers, a->request_headers) &&
           str_eq(got.response_headers, a->response_headers) &&
           str_eq(got.response_body, a->response_body) &&
           !got.response_body.p == !a->response_body.p &&
           !got.response_headers.p == !a->response_headers.p;
}

static void usual_ones_are_small(void)
{
    CHECK(comes_back(&usual, &facts));
    size_t n = attempt_texts_pack(&packer, &usual, &facts).n;
    CHECK(n < 130); /* of 477; 32 of it are the signature */
    CHECK(comes_back(&usual, &unknown));
    CHECK(attempt_texts_pack(&packer, &usual, &unknown).n > n);
}

static void absent_and_empty_ones_differ(void)
{
    struct attempt a = usual;
    a.response_headers = a.response_body = STR_NONE;
    CHECK(comes_back(&a, &facts));
    a.response_headers = a.response_body = (struct str)STR("");
    CHECK(comes_back(&a, &facts));
    a.request_headers = a.response_headers = a.response_body = STR_NONE;
    CHECK(!attempt_texts_pack(&packer, &a, &facts).p);
    CHECK(comes_back(&a, &facts));
}

static void what_erasures_keep_is_not_in_it(void)
{
    struct attempt a = usual;
    a.url = (struct str)STR("https://partner.example/somewhere");
    a.detail = (struct str)STR("nobody");
    struct str packed = attempt_texts_pack(&packer, &a, &facts);
    CHECK(memmem(packed.p, packed.n, "somewhere", 9) == NULL);
    CHECK(memmem(packed.p, packed.n, "nobody", 6) == NULL);
}

/* Texts whose sum is right, but which no attempt_texts_pack has written. */
static void wrong_pieces_do_no_harm(void)
{
    struct str packed = attempt_texts_pack(&packer, &usual, &facts), plain, again;
    struct text_packer other = {0};
    CHECK(text_unpack(packed, &arena, &plain));
    for (size_t i = 0; i < plain.n * 8; i++) {
        struct attempt got = {.number = usual.number, .at_ms = usual.at_ms};
        char *copy = xmalloc(plain.n);
        memcpy(copy, plain.p, plain.n);
        copy[i / 8] = (char)(copy[i / 8] ^ (1 << i % 8));
        again = text_pack(&other, (struct str){copy, plain.n - i % 2});
        if (!attempt_texts_read(again, &facts, &arena, &got))
            CHECK(!got.request_headers.p && !got.response_headers.p && !got.response_body.p);
        free(copy);
    }
    text_packer_free(&other);
}

int main(void)
{
    RUN(usual_ones_are_small);
    RUN(absent_and_empty_ones_differ);
    RUN(what_erasures_keep_is_not_in_it);
    RUN(wrong_pieces_do_no_harm);
    attempt_packer_free(&packer);
    arena_free(&arena);
    return check_done("attempt_texts");
}
