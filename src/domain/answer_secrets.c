/* Removes what only the receiver may know from its answer: the Sig, and its password. With a Sig
 * one can make another body for which it is valid, and more people read the log of attempts than
 * know the Callback Secret. */
#include "domain/answer_secrets.h"

#include "base/alloc.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define BASE64_BYTES 22 /* of 16 bytes, without padding */
#define CUT_LEAST 8 /* of a Sig that is cut off at the text's end; fewer reveal almost nothing */

static char fold_hex(char c)
{
    return c >= 'A' && c <= 'F' ? (char)(c - 'A' + 'a') : c;
}

static char fold_base64(char c)
{
    return c == '-' ? '+' : c == '_' ? '/' : c;
}

static char fold_nothing(char c)
{
    return c;
}

static size_t same(const char *text, size_t n, const char *wanted, char (*fold)(char))
{
    size_t at = 0;
    while (at < n && fold(text[at]) == wanted[at])
        at++;
    return at;
}

static void hide(char *text, size_t n, const char *wanted, size_t wanted_n, char (*fold)(char))
{
    for (size_t at = 0; at + CUT_LEAST <= n; at++) {
        size_t most = n - at < wanted_n ? n - at : wanted_n;
        if (same(text + at, most, wanted, fold) == most)
            memset(text + at, '*', most);
    }
}

static void hide_sig(char *text, size_t n, const char hex[SIG_HEX_BYTES])
{
    unsigned char bytes[SIG_HEX_BYTES / 2];
    char base64[BASE64_BYTES + 3];
    size_t length;
    if (n < CUT_LEAST ||
        sodium_hex2bin(bytes, sizeof bytes, hex, SIG_HEX_BYTES, NULL, &length, NULL) != 0)
        return;
    sodium_bin2base64(base64, sizeof base64, bytes, sizeof bytes,
                      sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
    hide(text, n, hex, SIG_HEX_BYTES, fold_hex);
    hide(text, n, base64, BASE64_BYTES, fold_base64);
}

static void hide_userinfo(char *text, size_t n, struct str userinfo)
{
    size_t most = sodium_base64_ENCODED_LEN(userinfo.n, sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
    char *base64 = xmalloc(most);
    const char *colon = memchr(userinfo.p, ':', userinfo.n);
    size_t user_n = colon ? (size_t)(colon + 1 - userinfo.p) : userinfo.n;
    sodium_bin2base64(base64, most, (const unsigned char *)userinfo.p, userinfo.n,
                      sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
    hide(text, n, base64, strlen(base64), fold_base64);
    if (userinfo.n - user_n >= CUT_LEAST) /* a shorter password is in many words */
        hide(text, n, userinfo.p + user_n, userinfo.n - user_n, fold_nothing);
    free(base64);
}

void answer_hide_secrets(char *text, size_t n, const char hex[SIG_HEX_BYTES], struct str userinfo)
{
    hide_sig(text, n, hex);
    if (userinfo.n > 0 && n > 0)
        hide_userinfo(text, n, userinfo);
}
