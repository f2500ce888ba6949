/* Packs and unpacks one text: see packed_text.h. */
#include "store/packed/packed_text.h"

#include "base/alloc.h"
#include "base/hash.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "sums are stored as in memory");

/* Stored: append only. */
enum packing {
    PACKING_NONE = 0,
    PACKING_DICTIONARY_1 = 1,
};
#define PACKING_BITS 2

#define UNPACKED_MOST 255 /* times its packed size: LZ4's own limit */

/* Every packed text refers to places in here: never change a byte of it. What is more frequent
 * stands further behind. */
static const char dictionary_1[] =
    "HTTP/1.1 <!DOCTYPE html><html><head><title></title></head><body></body></html>\r\n"
    "{\"error\":\"\",\"message\":\"\",\"status\":\"success\"}{\"ok\":true}OKok"
    "X-Powered-By: PHP/\nX-Frame-Options: SAMEORIGIN\nX-Content-Type-Options: nosniff\n"
    "Strict-Transport-Security: max-age=31536000; includeSubDomains\nETag: W/\"\n"
    "Vary: Accept-Encoding\nCF-RAY: \ncf-cache-status: DYNAMIC\nVia: 1.1 \n"
    "Access-Control-Allow-Origin: *\nCache-Control: no-cache, no-store, private\n"
    "Transfer-Encoding: chunked\nKeep-Alive: timeout=5\nServer: cloudflare\nServer: Apache\n"
    "Server: nginx/1.2\nContent-Type: application/json; charset=utf-8\n"
    "Content-Type: text/html; charset=UTF-8\nContent-Type: text/plain\nContent-Length: 2\n"
    "Connection: keep-alive\n"
    "Authorization: \nHost: 127.0.0.1:\nHost: www.example.com\nUser-Agent: postbackd/0.1.0\n"
    "Content-Type: application/json\nAccept-Encoding: identity\nContent-Length: 23"
    "{\"Sig\":\"\",\"PanelistId\":\"\",\"RewardType\":\"offer_completion_reversed\",\"RewardId\":"
    "\"\","
    "\"Reward\":-1.00,\"OriginalRewardId\":\"\",\"Reason\":\"\",\"RevenueAmount\":-0.50,"
    "\"RewardType\":\"survey_disqualified\",\"RewardType\":\"offer_completed\",\"RewardId\":\"\","
    "\"OfferId\":1,\"OfferTitle\":\"\",\"OfferGoalId\":\"\",\"Mid\":\"\",\"IsTest\":true}"
    "{\"Sig\":\"00000000000000000000000000000000\",\"PanelistId\":\"\",\"RewardType\":"
    "\"survey_completed\",\"RewardId\":\"\",\"Reward\":100.00,\"SessionId\":\"\","
    "\"RevenueAmount\":0.50,\"IsTest\":false}";
#define DICTIONARY_1_BYTES ((int)sizeof dictionary_1 - 1)

/* --- writing ---------------------------------------------------------------------------------- */

void text_packer_free(struct text_packer *p)
{
    buf_free(&p->packed);
    free(p->stream);
    *p = (struct text_packer){0};
}

static uint32_t sum_of(struct str text)
{
    return hash_crc32c(0, text.p, text.n);
}

static void put_head(struct buf *to, struct str text, enum packing packing)
{
    uint32_t sum = sum_of(text);
    number_put(to, (uint64_t)text.n << PACKING_BITS | packing);
    buf_add(to, &sum, sizeof sum);
}

/* False: packing gains nothing. */
static bool pack_by_dictionary(struct text_packer *p, struct str text)
{
    if (text.n == 0 || text.n > LZ4_MAX_INPUT_SIZE)
        return false;
    if (!p->stream) {
        p->stream = xmalloc(sizeof(LZ4_stream_t));
        ASSERT(LZ4_initStream(p->stream, sizeof(LZ4_stream_t)) != NULL);
    }
    LZ4_loadDict(p->stream, dictionary_1, DICTIONARY_1_BYTES);
    put_head(&p->packed, text, PACKING_DICTIONARY_1);
    int n = LZ4_compress_fast_continue(p->stream, text.p, buf_reserve(&p->packed, text.n),
                                       (int)text.n, (int)text.n - 1, 1);
    p->packed.n += n > 0 ? (size_t)n : 0;
    return n > 0;
}

struct str text_pack(struct text_packer *p, struct str text)
{
    if (!text.p)
        return STR_NONE;
    buf_clear(&p->packed);
    if (pack_by_dictionary(p, text))
        return buf_str(&p->packed);
    buf_clear(&p->packed);
    put_head(&p->packed, text, PACKING_NONE);
    buf_add_str(&p->packed, text);
    return buf_str(&p->packed);
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool unpack_to(struct str bytes, uint64_t packing, char *room, uint64_t n)
{
    if (packing == PACKING_NONE) {
        memcpy(room, bytes.p, n);
        return true;
    }
    return LZ4_decompress_safe_usingDict(bytes.p, room, (int)bytes.n, (int)n, dictionary_1,
                                         DICTIONARY_1_BYTES) == (int)n;
}

bool text_unpack(struct str packed, struct arena *arena, struct str *ret)
{
    uint32_t sum;
    struct number_reader r = number_reader_of(packed);
    uint64_t head = number_get(&r), n = head >> PACKING_BITS, packing = head % (1u << PACKING_BITS);
    struct str sum_bytes = number_get_bytes(&r, sizeof sum);
    struct str bytes = number_get_bytes(&r, (uint64_t)(r.end - r.at));
    *ret = STR_NONE;
    if (r.bad || n > LZ4_MAX_INPUT_SIZE || packing > PACKING_DICTIONARY_1 ||
        (packing == PACKING_NONE ? n != bytes.n : n / UNPACKED_MOST > bytes.n))
        return false;
    char *room = arena_alloc(arena, n + 1);
    memcpy(&sum, sum_bytes.p, sizeof sum);
    if (!unpack_to(bytes, packing, room, n) || sum != sum_of((struct str){room, n}))
        return false;
    *ret = (struct str){room, n};
    return true;
}
