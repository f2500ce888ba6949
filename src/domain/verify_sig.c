/* Finds out why a Sig does not match.
 *
 * Each known mistake builds another text from the same parts. They are tried in the order of
 * likelihood; the first whose MD5 is the given Sig is the answer. An MD5 takes 0.3 us, so trying
 * all of them takes no noticeable time. */
#include "domain/verify_sig.h"

#include "domain/event.h"
#include "domain/signature.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#define RULE                                                                                       \
    "Sig is the lower-case hex MD5 of PanelistId, RewardId and secret, in this order, "            \
    "with nothing between them"

struct verification {
    const struct verify_input *in;
    char sig[SIG_HEX_BYTES]; /* in lower case */
    struct buf text;         /* the text to hash; reused */
    struct buf *why;
};

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool matches(const struct verification *a, struct str x, struct str y, struct str z)
{
    char hex[SIG_HEX_BYTES];
    signature_sig(x, y, z, hex);
    return CRYPTO_memcmp(hex, a->sig, sizeof hex) == 0;
}

static enum verify_cause found(struct verification *a, enum verify_cause cause,
                               const char *sentence)
{
    buf_add_c(a->why, sentence);
    return cause;
}

/* In the functions below VERIFY_OK means: not this mistake. */
static enum verify_cause try_orders(struct verification *a)
{
    const struct str p = a->in->panelist_id, r = a->in->reward_id, s = a->in->secret;
    const struct {
        struct str x, y, z;
        const char *name;
    } orders[] = {
        {r, p, s, "RewardId, PanelistId, secret"}, {s, p, r, "secret, PanelistId, RewardId"},
        {s, r, p, "secret, RewardId, PanelistId"}, {p, s, r, "PanelistId, secret, RewardId"},
        {r, s, p, "RewardId, secret, PanelistId"},
    };
    for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
        if (matches(a, orders[i].x, orders[i].y, orders[i].z)) {
            buf_printf(a->why, "this Sig was made in the order %s; ", orders[i].name);
            return found(a, VERIFY_ORDER, RULE);
        }
    }
    return VERIFY_OK;
}

static enum verify_cause try_parts_and_separators(struct verification *a)
{
    const struct str p = a->in->panelist_id, r = a->in->reward_id, s = a->in->secret;
    if (matches(a, p, r, STR_NONE))
        return found(a, VERIFY_PART_MISSING, "this Sig was made without the secret; " RULE);
    if (matches(a, p, s, STR_NONE))
        return found(a, VERIFY_PART_MISSING, "this Sig was made without RewardId; " RULE);
    if (matches(a, r, s, STR_NONE))
        return found(a, VERIFY_PART_MISSING, "this Sig was made without PanelistId; " RULE);
    static const char *const separators[] = {":", "|", "-", ".", ",", ";",
                                             "_", "+", "&", "/", " ", "\n"};
    for (size_t i = 0; i < ARRAY_LEN(separators); i++) {
        buf_clear(&a->text);
        buf_add_str(&a->text, p);
        buf_add_c(&a->text, separators[i]);
        buf_add_str(&a->text, r);
        buf_add_c(&a->text, separators[i]);
        if (matches(a, buf_str(&a->text), s, STR_NONE)) {
            const char *name = is_space(separators[i][0]) ? "white space" : separators[i];
            buf_printf(a->why, "this Sig was made with %s between the parts; ", name);
            return found(a, VERIFY_SEPARATOR, RULE);
        }
    }
    return VERIFY_OK;
}

static bool hmac_matches(const struct verification *a, struct str key, struct str text)
{
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned int n = 0;
    if (!HMAC(EVP_md5(), key.p, (int)key.n, (const unsigned char *)text.p, text.n, mac, &n))
        return false;
    char given[SIG_HEX_BYTES];
    ASSERT(n * 2 == sizeof given);
    hex_print(given, mac, n);
    return CRYPTO_memcmp(given, a->sig, sizeof given) == 0;
}

static enum verify_cause try_secret_forms(struct verification *a)
{
    const struct str p = a->in->panelist_id, r = a->in->reward_id, s = a->in->secret;
    uint8_t bytes[SECRET_BYTES_MAX];
    struct str key = s;
    bool prefixed = str_has_prefix(s, "whsec_");
    if (s.n <= SECRET_BYTES_MAX)
        key = (struct str){(const char *)bytes, signature_webhook_key(s, bytes)};
    enum verify_cause cause = VERIFY_OK;

    buf_clear(&a->text);
    buf_add_str(&a->text, p);
    buf_add_str(&a->text, r);
    struct str ids = buf_str(&a->text);
    if (hmac_matches(a, s, ids) || hmac_matches(a, key, ids))
        cause =
            found(a, VERIFY_HMAC,
                  "this Sig is an HMAC; the secret is no key here but the end of the text: " RULE);
    else if (prefixed && matches(a, p, r, (struct str){s.p + 6, s.n - 6}))
        cause = found(a, VERIFY_SECRET_PREFIX,
                      "this Sig was made without the secret's whsec_; for Sig the whole string is "
                      "the secret (only the key of webhook-signature begins after it)");
    else if (prefixed && matches(a, p, r, key))
        cause = found(a, VERIFY_SECRET_DECODED,
                      "this Sig was made with the base64-decoded secret; for Sig the secret is the "
                      "string as it is shown (only the key of webhook-signature is decoded)");
    OPENSSL_cleanse(bytes, sizeof bytes);
    return cause;
}

/* Sig is right, and the given secret is not: it was copied without its prefix, or with quotes. */
static enum verify_cause try_given_secret(struct verification *a)
{
    const struct str p = a->in->panelist_id, r = a->in->reward_id, s = a->in->secret;
    buf_clear(&a->text);
    buf_add_c(&a->text, "whsec_");
    buf_add_str(&a->text, s);
    if (matches(a, p, r, buf_str(&a->text)))
        return found(a, VERIFY_SECRET_PREFIX,
                     "it matches with whsec_ before the secret; give the whole string: for Sig "
                     "whsec_ is a part of the secret");
    bool quoted = s.n >= 2 && char_in(s.p[0], "\"'") && s.p[s.n - 1] == s.p[0];
    if (quoted && matches(a, p, r, (struct str){s.p + 1, s.n - 2}))
        return found(a, VERIFY_SECRET_QUOTED,
                     "it matches without the quotes around the secret; give the secret without "
                     "them");
    return VERIFY_OK;
}

static struct str trimmed(struct str s)
{
    while (s.n && is_space(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n && is_space(s.p[s.n - 1]))
        s.n--;
    return s;
}

static enum verify_cause try_white_space(struct verification *a)
{
    static const char *const ends[] = {"\n", "\r\n", " ", "\t"};
    const struct str parts[3] = {a->in->panelist_id, a->in->reward_id, a->in->secret};
    static const char *const names[3] = {"PanelistId", "RewardId", "the secret"};
    for (size_t i = 0; i < 3; i++) {
        struct str with[3] = {parts[0], parts[1], parts[2]};
        with[i] = trimmed(parts[i]);
        if (with[i].n != parts[i].n && matches(a, with[0], with[1], with[2])) {
            buf_printf(a->why, "it matches without the white space around %s; ", names[i]);
            return found(a, VERIFY_WHITE_SPACE,
                         i == 2 ? "give the secret without it"
                                : "ids are signed exactly as in the body");
        }
        for (size_t j = 0; j < ARRAY_LEN(ends); j++) {
            buf_clear(&a->text);
            buf_add_str(&a->text, parts[i]);
            buf_add_c(&a->text, ends[j]);
            with[i] = buf_str(&a->text);
            if (matches(a, with[0], with[1], with[2])) {
                buf_printf(a->why, "this Sig was made with white space after %s; ", names[i]);
                return found(
                    a, VERIFY_WHITE_SPACE,
                    "remove the line end of a secret that is read from a file or a variable");
            }
        }
    }
    return VERIFY_OK;
}

/* PanelistId with everything escaped that a URL would escape; `digits`: upper or lower case. */
static void print_percent_encoded(struct buf *to, struct str s, const char *digits)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (char_is_letter_or_digit(s.p[i]) || char_in(s.p[i], "-._~")) {
            buf_add_char(to, s.p[i]);
        } else {
            buf_add_char(to, '%');
            buf_add_char(to, digits[c >> 4]);
            buf_add_char(to, digits[c & 15]);
        }
    }
}

static void print_lower(struct buf *to, struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        buf_add_char(to, char_lower(s.p[i]));
}

static void print_slash_escaped(struct buf *to, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '/')
            buf_add_char(to, '\\');
        buf_add_char(to, s.p[i]);
    }
}

static bool all_digits(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return s.n > 0;
}

static enum verify_cause try_changed_ids(struct verification *a)
{
    const struct str p = a->in->panelist_id, r = a->in->reward_id, s = a->in->secret;
    static const char kept[] = "; ids are strings and are signed exactly as they are";
    const char *what = NULL;
    if (all_digits(p)) {
        struct str digits = p;
        while (digits.n > 1 && digits.p[0] == '0') {
            digits.p++;
            digits.n--;
        }
        buf_clear(&a->text);
        buf_add_str(&a->text, digits);
        buf_add_c(&a->text, ".0");
        if (matches(a, digits, r, s) || matches(a, buf_str(&a->text), r, s))
            what = "this Sig was made with PanelistId turned into a number";
    }
    for (int i = 0; i < 4 && !what; i++) {
        static const char *const whats[] = {
            "this Sig was made with PanelistId in lower case",
            "this Sig was made with PanelistId percent-encoded",
            "this Sig was made with PanelistId percent-encoded",
            "this Sig was made with the / of PanelistId escaped, as some JSON writers do",
        };
        buf_clear(&a->text);
        if (i == 0)
            print_lower(&a->text, p);
        else if (i == 3)
            print_slash_escaped(&a->text, p);
        else
            print_percent_encoded(&a->text, p, i == 1 ? "0123456789ABCDEF" : "0123456789abcdef");
        if (matches(a, buf_str(&a->text), r, s))
            what = whats[i];
    }
    if (!what)
        return VERIFY_OK;
    buf_add_c(a->why, what);
    return found(a, VERIFY_ID_CHANGED, kept);
}

static enum verify_cause judge_shape(struct verification *a)
{
    struct str sig = a->in->sig;
    bool hex = true;
    for (size_t i = 0; i < sig.n; i++)
        hex = hex && hex_value(sig.p[i]) >= 0;
    if (hex && sig.n == SIG_HEX_BYTES)
        return VERIFY_OK;
    const char *guess = "";
    if (sig.n == 0)
        guess = "it is empty";
    else if (trimmed(sig).n != sig.n)
        guess = "there is white space around it";
    else if (hex && sig.n == 40)
        guess = "40 digits are a SHA-1";
    else if (hex && sig.n == 64)
        guess = "64 digits are a SHA-256";
    else if (str_has_prefix(sig, "v1,"))
        guess = "that is a webhook-signature, which is another check, over the whole body";
    else if (sig.n == 24 && sig.p[22] == '=' && sig.p[23] == '=')
        guess = "it looks like base64";
    else
        guess = "that is something else";
    buf_printf(a->why, "Sig must be 32 hexadecimal digits: %s; ", guess);
    return found(a, VERIFY_NOT_MD5_HEX, RULE);
}

static enum verify_cause judge_fields(struct verification *a)
{
    const struct verify_input *in = a->in;
    if (!in->panelist_id.p)
        return found(a, VERIFY_MISSING_FIELD, "there is no PanelistId (a string) in the body");
    if (!in->reward_id.p)
        return found(a, VERIFY_MISSING_FIELD, "there is no RewardId (a string) in the body");
    if (in->sig.p)
        return VERIFY_OK;
    if (!in->signature.p)
        return found(a, VERIFY_MISSING_SIG, "there is no Sig (a string) in the body");
    return found(a, VERIFY_ONLY_SIGNATURE,
                 "there is no Sig in the body, only Signature, which is deprecated and must not be "
                 "used to verify: callbacks carry Sig");
}

enum verify_cause verify_sig(const struct verify_input *in, struct buf *why)
{
    static enum verify_cause (*const tries[])(struct verification *) = {
        try_orders,      try_secret_forms, try_given_secret, try_parts_and_separators,
        try_white_space, try_changed_ids,
    };
    struct verification a = {.in = in, .why = why};
    enum verify_cause cause = judge_fields(&a);
    if (cause == VERIFY_OK)
        cause = judge_shape(&a);
    if (cause != VERIFY_OK)
        return cause;
    for (size_t i = 0; i < SIG_HEX_BYTES; i++)
        a.sig[i] = char_lower(in->sig.p[i]);
    if (matches(&a, in->panelist_id, in->reward_id, in->secret)) {
        if (memcmp(a.sig, in->sig.p, SIG_HEX_BYTES) == 0)
            return VERIFY_OK;
        return found(&a, VERIFY_UPPER_CASE,
                     "Sig is right but for its upper-case digits; callbacks carry lower case");
    }
    for (size_t i = 0; i < ARRAY_LEN(tries) && cause == VERIFY_OK; i++)
        cause = tries[i](&a);
    buf_free(&a.text);
    if (cause != VERIFY_OK)
        return cause;
    return found(&a, VERIFY_UNEXPLAINED,
                 "Sig was made with another secret, or PanelistId or RewardId were altered on the "
                 "way (the two cannot be told apart); compare the secret with the one shown for "
                 "this app");
}

bool verify_is_test(const struct verify_input *in)
{
    return str_has_prefix(in->reward_id, EVENT_ID_OF_TESTS);
}

const char *verify_cause_name(enum verify_cause cause)
{
    static const char *const names[] = {
        [VERIFY_OK] = "ok",
        [VERIFY_MISSING_FIELD] = "missing_field",
        [VERIFY_MISSING_SIG] = "missing_sig",
        [VERIFY_ONLY_SIGNATURE] = "only_signature",
        [VERIFY_NOT_MD5_HEX] = "not_md5_hex",
        [VERIFY_UPPER_CASE] = "upper_case",
        [VERIFY_ORDER] = "order",
        [VERIFY_SEPARATOR] = "separator",
        [VERIFY_PART_MISSING] = "part_missing",
        [VERIFY_HMAC] = "hmac",
        [VERIFY_SECRET_PREFIX] = "secret_prefix",
        [VERIFY_SECRET_DECODED] = "secret_decoded",
        [VERIFY_SECRET_QUOTED] = "secret_quoted",
        [VERIFY_WHITE_SPACE] = "white_space",
        [VERIFY_ID_CHANGED] = "id_changed",
        [VERIFY_UNEXPLAINED] = "unexplained",
    };
    ASSERT((unsigned)cause < ARRAY_LEN(names));
    return names[cause];
}
