/* A cursor is base64url of a version, the position, and a check; all little-endian. */
#include "services/cursor.h"

#include "base/hash.h"

#include <sodium.h>

#define CURSOR_VERSION 1
#define CURSOR_BYTES 13
#define LOG_CURSOR_VERSION 2
#define LOG_CURSOR_BYTES 29
#define DAY_CURSOR_VERSION 5 /* 3 had no time of acceptance */
#define DAY_CURSOR_BYTES 25
#define FEED_CURSOR_VERSION 4
#define FEED_CURSOR_BYTES 21
#define CURSOR_BYTES_MOST LOG_CURSOR_BYTES
#define CHECK_BYTES 4
#define CURSOR_VARIANT sodium_base64_VARIANT_URLSAFE_NO_PADDING

/* The seed of the check, which binds a cursor to its account. */
static uint32_t seed_of(uint32_t version, uint32_t account_no)
{
    return hash_crc32c(version, &account_no, sizeof account_no);
}

static uint32_t check_of(const unsigned char *bytes, size_t n, uint32_t seed)
{
    size_t from = bytes[0] == CURSOR_VERSION; /* its check leaves out the version byte */
    return hash_crc32c(seed, bytes + from, n - CHECK_BYTES - from);
}

/* Fills in the check, the last of the n bytes, and prints them. */
static void seal(struct buf *to, unsigned char *bytes, size_t n, uint32_t seed)
{
    char text[sodium_base64_ENCODED_LEN(CURSOR_BYTES_MOST, CURSOR_VARIANT)];
    uint32_t check = check_of(bytes, n, seed);
    memcpy(bytes + n - CHECK_BYTES, &check, CHECK_BYTES);
    sodium_bin2base64(text, sizeof text, bytes, n, CURSOR_VARIANT);
    buf_add_c(to, text);
}

/* False: another length or version, or a wrong check. */
static bool unseal(struct str text, int version, uint32_t seed, unsigned char *ret, size_t n)
{
    size_t got = 0;
    uint32_t check;
    if (sodium_base642bin(ret, n, text.p, text.n, NULL, &got, NULL, CURSOR_VARIANT) != 0 ||
        got != n || ret[0] != version)
        return false;
    memcpy(&check, ret + n - CHECK_BYTES, CHECK_BYTES);
    return check == check_of(ret, n, seed);
}

void cursor_print(struct buf *to, uint32_t account_no, uint64_t event_no)
{
    unsigned char bytes[CURSOR_BYTES] = {CURSOR_VERSION};
    memcpy(bytes + 1, &event_no, 8);
    seal(to, bytes, sizeof bytes, seed_of(CURSOR_VERSION, account_no));
}

bool cursor_parse(struct str text, uint32_t account_no, uint64_t *ret_event_no)
{
    unsigned char bytes[CURSOR_BYTES];
    if (!unseal(text, CURSOR_VERSION, seed_of(CURSOR_VERSION, account_no), bytes, sizeof bytes))
        return false;
    memcpy(ret_event_no, bytes + 1, 8);
    return true;
}

void feed_cursor_print(struct buf *to, uint32_t account_no, const struct feed_place *place)
{
    unsigned char bytes[FEED_CURSOR_BYTES] = {FEED_CURSOR_VERSION};
    memcpy(bytes + 1, &place->event_no, 8);
    memcpy(bytes + 9, &place->accepted_ms, 8);
    seal(to, bytes, sizeof bytes, seed_of(FEED_CURSOR_VERSION, account_no));
}

bool feed_cursor_parse(struct str text, uint32_t account_no, struct feed_place *ret)
{
    unsigned char bytes[FEED_CURSOR_BYTES];
    uint32_t seed = seed_of(FEED_CURSOR_VERSION, account_no);
    *ret = (struct feed_place){0};
    if (!unseal(text, FEED_CURSOR_VERSION, seed, bytes, sizeof bytes))
        return cursor_parse(text, account_no, &ret->event_no);
    memcpy(&ret->event_no, bytes + 1, 8);
    memcpy(&ret->accepted_ms, bytes + 9, 8);
    return true;
}

void day_cursor_print(struct buf *to, uint32_t account_no, const struct day_place *place)
{
    unsigned char bytes[DAY_CURSOR_BYTES] = {DAY_CURSOR_VERSION};
    memcpy(bytes + 1, &place->day, 4);
    memcpy(bytes + 5, &place->in_day.event_no, 8);
    memcpy(bytes + 13, &place->in_day.accepted_ms, 8);
    seal(to, bytes, sizeof bytes, seed_of(DAY_CURSOR_VERSION, account_no));
}

bool day_cursor_parse(struct str text, uint32_t account_no, struct day_place *ret)
{
    unsigned char bytes[DAY_CURSOR_BYTES];
    uint32_t seed = seed_of(DAY_CURSOR_VERSION, account_no);
    if (!unseal(text, DAY_CURSOR_VERSION, seed, bytes, sizeof bytes))
        return false;
    memcpy(&ret->day, bytes + 1, 4);
    memcpy(&ret->in_day.event_no, bytes + 5, 8);
    memcpy(&ret->in_day.accepted_ms, bytes + 13, 8);
    return true;
}

int log_place_compare(const struct log_place *a, const struct log_place *b)
{
    if (a->accepted_ms != b->accepted_ms)
        return a->accepted_ms < b->accepted_ms ? -1 : 1;
    if (a->account_no != b->account_no)
        return a->account_no < b->account_no ? -1 : 1;
    return (a->event_no > b->event_no) - (a->event_no < b->event_no);
}

void log_cursor_print(struct buf *to, const struct log_cursor *cursor)
{
    unsigned char bytes[LOG_CURSOR_BYTES] = {LOG_CURSOR_VERSION};
    const struct log_place *place = &cursor->place;
    memcpy(bytes + 1, &cursor->before_no, 4);
    memcpy(bytes + 5, &place->accepted_ms, 8);
    memcpy(bytes + 13, &place->account_no, 4);
    memcpy(bytes + 17, &place->event_no, 8);
    seal(to, bytes, sizeof bytes, LOG_CURSOR_VERSION);
}

bool log_cursor_parse(struct str text, struct log_cursor *ret)
{
    unsigned char bytes[LOG_CURSOR_BYTES];
    if (!unseal(text, LOG_CURSOR_VERSION, LOG_CURSOR_VERSION, bytes, sizeof bytes))
        return false;
    struct log_place *place = &ret->place;
    memcpy(&ret->before_no, bytes + 1, 4);
    memcpy(&place->accepted_ms, bytes + 5, 8);
    memcpy(&place->account_no, bytes + 13, 4);
    memcpy(&place->event_no, bytes + 17, 8);
    return true;
}
