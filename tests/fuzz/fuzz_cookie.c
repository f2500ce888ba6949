/* Cookie headers and what is typed as codes: what is found stands in the header as name=value, and
 * what is planted beside it is never taken instead. */
#include "fuzz.h"

#include "people/cookie.h"
#include "people/password.h"
#include "people/totp.h"

#include "base/check.h"

static void check_planted(struct str header, struct str found)
{
    struct buf both = {0};
    buf_add_str(&both, header);
    buf_add_c(&both, "; session=planted");
    struct str again = cookie_find(buf_str(&both), "session");
    ASSERT(!again.p || !found.p || str_eq(again, found));
    if (!found.p && again.p)
        ASSERT(str_is(again, "planted"));
    buf_free(&both);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct str text = {(const char *)data, data_bytes};
    struct str found = cookie_find(text, "session");
    if (found.p) {
        ASSERT(found.p > text.p + 7 && found.p + found.n <= text.p + text.n);
        ASSERT(memcmp(found.p - 8, "session=", 8) == 0);
        ASSERT(found.n == 0 || !memchr(found.p, ';', found.n));
    }
    check_planted(text, found);
    uint8_t hash[32];
    if (recovery_code_hash(text, hash))
        ASSERT(text.n >= RECOVERY_CODE_BYTES - 1);
    int64_t step = totp_find_step(STR("12345678901234567890"), text, 59000, &(struct used_once){0});
    ASSERT(step >= 0 && step <= 2);
    return 0;
}
