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

/* How the characters of a secret may be spelled: `fold` gives the one that the secret has, `other`
 * the other one, if there is one. */
struct spelling {
    char (*fold)(char);
    char (*other)(char);
};

static char fold_hex(char c)
{
    return c >= 'A' && c <= 'F' ? (char)(c - 'A' + 'a') : c;
}

static char other_hex(char c)
{
    return c >= 'a' && c <= 'f' ? (char)(c - 'a' + 'A') : c;
}

static char fold_base64(char c)
{
    return c == '-' ? '+' : c == '_' ? '/' : c;
}

static char other_base64(char c)
{
    return c == '+' ? '-' : c == '/' ? '_' : c;
}

static char itself(char c)
{
    return c;
}

static const struct spelling hex_digits = {fold_hex, other_hex},
                             base64_digits = {fold_base64, other_base64}, plain = {itself, itself};

static bool is_same(const char *text, const char *wanted, size_t n, char (*fold)(char))
{
    size_t at = 0;
    while (at < n && fold(text[at]) == wanted[at])
        at++;
    return at == n;
}

/* Only where the text has this first character: every answer is searched, and hardly any has more
 * than a few. */
static void hide_from(char *text, size_t n, char first, struct str wanted, char (*fold)(char))
{
    char *at = text, *end = text + n;
    while ((at = memchr(at, first, (size_t)(end - at))) != NULL && end - at >= CUT_LEAST) {
        size_t most = (size_t)(end - at) < wanted.n ? (size_t)(end - at) : wanted.n;
        if (is_same(at, wanted.p, most, fold))
            memset(at, '*', most);
        at++;
    }
}

static void hide(char *text, size_t n, struct str wanted, const struct spelling *spelling)
{
    char first = wanted.p[0], other = spelling->other(first);
    hide_from(text, n, first, wanted, spelling->fold);
    if (other != first)
        hide_from(text, n, other, wanted, spelling->fold);
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
    hide(text, n, (struct str){hex, SIG_HEX_BYTES}, &hex_digits);
    hide(text, n, (struct str){base64, BASE64_BYTES}, &base64_digits);
}

static void hide_userinfo(char *text, size_t n, struct str userinfo)
{
    size_t most = sodium_base64_ENCODED_LEN(userinfo.n, sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
    char *base64 = xmalloc(most);
    const char *colon = memchr(userinfo.p, ':', userinfo.n);
    size_t user_n = colon ? (size_t)(colon + 1 - userinfo.p) : userinfo.n;
    sodium_bin2base64(base64, most, (const unsigned char *)userinfo.p, userinfo.n,
                      sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
    hide(text, n, str_of(base64), &base64_digits);
    if (userinfo.n - user_n >= CUT_LEAST) /* a shorter password is in many words */
        hide(text, n, (struct str){userinfo.p + user_n, userinfo.n - user_n}, &plain);
    free(base64);
}

void answer_hide_secrets(char *text, size_t n, const char hex[SIG_HEX_BYTES], struct str userinfo)
{
    hide_sig(text, n, hex);
    if (userinfo.n > 0 && n > 0)
        hide_userinfo(text, n, userinfo);
}
