/* Packs and unpacks one text: see packed_text.h. */
#include "store/packed/packed_text.h"

#include <string.h>

/* Stored: append only. */
enum packing {
    PACKING_NONE = 0,
    PACKING_DICTIONARY_1 = 1,
};
#define PACKING_BITS 2

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
#define DICTIONARY_1 ((struct str){dictionary_1, sizeof dictionary_1 - 1})

/* --- writing ---------------------------------------------------------------------------------- */

void text_packer_free(struct text_packer *p)
{
    buf_free(&p->packed);
    lz4_packer_free(&p->lz4);
    *p = (struct text_packer){0};
}

static void put_head(struct buf *to, struct str text, enum packing packing)
{
    number_put(to, (uint64_t)text.n << PACKING_BITS | packing);
    lz4_sum_add(to, text);
}

struct str text_pack(struct text_packer *p, struct str text)
{
    if (!text.p)
        return STR_NONE;
    buf_clear(&p->packed);
    put_head(&p->packed, text, PACKING_DICTIONARY_1);
    if (lz4_block_pack(&p->lz4, text, DICTIONARY_1, &p->packed))
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
    return lz4_block_unpack(bytes, DICTIONARY_1, room, n);
}

bool text_unpack(struct str packed, struct arena *arena, struct str *ret)
{
    struct number_reader r = number_reader_of(packed);
    uint64_t head = number_get(&r), n = head >> PACKING_BITS, packing = head % (1u << PACKING_BITS);
    struct str sum_bytes = number_get_bytes(&r, LZ4_SUM_BYTES);
    struct str bytes = number_get_bytes(&r, (uint64_t)(r.end - r.at));
    *ret = STR_NONE;
    if (r.bad || packing > PACKING_DICTIONARY_1 || !lz4_block_may_hold(bytes, n) ||
        (packing == PACKING_NONE && n != bytes.n))
        return false;
    char *room = arena_alloc(arena, n + 1);
    if (!unpack_to(bytes, packing, room, n) || !lz4_sum_is_of(sum_bytes, (struct str){room, n}))
        return false;
    *ret = (struct str){room, n};
    return true;
}
