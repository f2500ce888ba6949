/* A cursor is base64url of its version, what it says, and a check; all little-endian. */
#include "services/cursor.h"

#include "base/hash.h"

#include <sodium.h>

#define CURSOR_VERSION 1
#define CURSOR_BYTES 13
#define LOG_CURSOR_VERSION 2
#define LOG_CURSOR_BYTES 29
#define DAY_CURSOR_VERSION 3
#define DAY_CURSOR_BYTES 17
#define CURSOR_BYTES_MOST LOG_CURSOR_BYTES
#define CURSOR_VARIANT sodium_base64_VARIANT_URLSAFE_NO_PADDING

static uint32_t check_of(uint32_t account_no, uint64_t event_no)
{
    return hash_crc32c(hash_crc32c(CURSOR_VERSION, &account_no, sizeof account_no), &event_no,
                       sizeof event_no);
}

static void print_bytes(struct buf *to, const unsigned char *bytes, size_t n)
{
    char text[sodium_base64_ENCODED_LEN(CURSOR_BYTES_MOST, CURSOR_VARIANT)];
    sodium_bin2base64(text, sizeof text, bytes, n, CURSOR_VARIANT);
    buf_add_c(to, text);
}

/* False: not so many bytes, or another version. */
static bool read_bytes(struct str text, unsigned char *ret, size_t n, int version)
{
    size_t got = 0;
    return sodium_base642bin(ret, n, text.p, text.n, NULL, &got, NULL, CURSOR_VARIANT) == 0 &&
           got == n && ret[0] == version;
}

void cursor_print(struct buf *to, uint32_t account_no, uint64_t event_no)
{
    unsigned char bytes[CURSOR_BYTES] = {CURSOR_VERSION};
    uint32_t check = check_of(account_no, event_no);
    memcpy(bytes + 1, &event_no, sizeof event_no);
    memcpy(bytes + 9, &check, sizeof check);
    print_bytes(to, bytes, sizeof bytes);
}

bool cursor_parse(struct str text, uint32_t account_no, uint64_t *ret_event_no)
{
    unsigned char bytes[CURSOR_BYTES];
    if (!read_bytes(text, bytes, sizeof bytes, CURSOR_VERSION))
        return false;
    uint64_t event_no;
    uint32_t check;
    memcpy(&event_no, bytes + 1, sizeof event_no);
    memcpy(&check, bytes + 9, sizeof check);
    if (check != check_of(account_no, event_no))
        return false;
    *ret_event_no = event_no;
    return true;
}

#define DAY_CURSOR_CHECK_AT 13

static uint32_t day_check_of(uint32_t account_no, const unsigned char *bytes)
{
    return hash_crc32c(hash_crc32c(DAY_CURSOR_VERSION, &account_no, sizeof account_no), bytes,
                       DAY_CURSOR_CHECK_AT);
}

void day_cursor_print(struct buf *to, uint32_t account_no, const struct day_place *place)
{
    unsigned char bytes[DAY_CURSOR_BYTES] = {DAY_CURSOR_VERSION};
    memcpy(bytes + 1, &place->day, 4);
    memcpy(bytes + 5, &place->event_no, 8);
    uint32_t check = day_check_of(account_no, bytes);
    memcpy(bytes + DAY_CURSOR_CHECK_AT, &check, sizeof check);
    print_bytes(to, bytes, sizeof bytes);
}

bool day_cursor_parse(struct str text, uint32_t account_no, struct day_place *ret)
{
    unsigned char bytes[DAY_CURSOR_BYTES];
    uint32_t check;
    if (!read_bytes(text, bytes, sizeof bytes, DAY_CURSOR_VERSION))
        return false;
    memcpy(&check, bytes + DAY_CURSOR_CHECK_AT, sizeof check);
    if (check != day_check_of(account_no, bytes))
        return false;
    memcpy(&ret->day, bytes + 1, 4);
    memcpy(&ret->event_no, bytes + 5, 8);
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

#define LOG_CURSOR_CHECK_AT 25

void log_cursor_print(struct buf *to, const struct log_cursor *cursor)
{
    unsigned char bytes[LOG_CURSOR_BYTES] = {LOG_CURSOR_VERSION};
    const struct log_place *place = &cursor->place;
    memcpy(bytes + 1, &cursor->before_no, 4);
    memcpy(bytes + 5, &place->accepted_ms, 8);
    memcpy(bytes + 13, &place->account_no, 4);
    memcpy(bytes + 17, &place->event_no, 8);
    uint32_t check = hash_crc32c(LOG_CURSOR_VERSION, bytes, LOG_CURSOR_CHECK_AT);
    memcpy(bytes + LOG_CURSOR_CHECK_AT, &check, sizeof check);
    print_bytes(to, bytes, sizeof bytes);
}

bool log_cursor_parse(struct str text, struct log_cursor *ret)
{
    unsigned char bytes[LOG_CURSOR_BYTES];
    if (!read_bytes(text, bytes, sizeof bytes, LOG_CURSOR_VERSION))
        return false;
    uint32_t check;
    memcpy(&check, bytes + LOG_CURSOR_CHECK_AT, sizeof check);
    if (check != hash_crc32c(LOG_CURSOR_VERSION, bytes, LOG_CURSOR_CHECK_AT))
        return false;
    struct log_place *place = &ret->place;
    memcpy(&ret->before_no, bytes + 1, 4);
    memcpy(&place->accepted_ms, bytes + 5, 8);
    memcpy(&place->account_no, bytes + 13, 4);
    memcpy(&place->event_no, bytes + 17, 8);
    return true;
}
