/* A cursor is base64url of: version, event number, account's check; 13 bytes, little-endian. */
#include "api/cursor.h"

#include "base/hash.h"

#include <sodium.h>

#define CURSOR_VERSION 1
#define CURSOR_BYTES 13
#define CURSOR_VARIANT sodium_base64_VARIANT_URLSAFE_NO_PADDING

static uint32_t check_of(uint32_t account_no, uint64_t event_no)
{
    return hash_crc32c(hash_crc32c(CURSOR_VERSION, &account_no, sizeof account_no), &event_no,
                       sizeof event_no);
}

void cursor_print(struct buf *to, uint32_t account_no, uint64_t event_no)
{
    unsigned char bytes[CURSOR_BYTES] = {CURSOR_VERSION};
    uint32_t check = check_of(account_no, event_no);
    memcpy(bytes + 1, &event_no, sizeof event_no);
    memcpy(bytes + 9, &check, sizeof check);
    char text[sodium_base64_ENCODED_LEN(CURSOR_BYTES, CURSOR_VARIANT)];
    sodium_bin2base64(text, sizeof text, bytes, sizeof bytes, CURSOR_VARIANT);
    buf_add_c(to, text);
}

bool cursor_parse(struct str text, uint32_t account_no, uint64_t *ret_event_no)
{
    unsigned char bytes[CURSOR_BYTES];
    size_t n = 0;
    if (sodium_base642bin(bytes, sizeof bytes, text.p, text.n, NULL, &n, NULL, CURSOR_VARIANT) !=
            0 ||
        n != sizeof bytes || bytes[0] != CURSOR_VERSION)
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
