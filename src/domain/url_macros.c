/* Macros in callback URLs. Configuring a URL is strict: a brace outside of a macro is refused.
 * Replacing is lenient, because a store may have URLs from before macros existed. */
#include "domain/url_macros.h"

#include "base/limits.h"
#include "domain/signature.h"

/* bytes_most: of a value as sent, where three bytes may stand for one, and in a path five for a dot
 * (see end_segment). */
static const struct {
    const char *name;
    size_t bytes_most;
} macros[URL_MACROS] = {
    [MACRO_SIG] = {"Sig", SIG_HEX_BYTES},
    [MACRO_PANELIST_ID] = {"PanelistId", 3 * LIMIT_PANELIST_ID_BYTES},
    [MACRO_REWARD_TYPE] = {"RewardType", 32},
    [MACRO_REWARD_ID] = {"RewardId", 3 * LIMIT_EVENT_ID_BYTES},
    [MACRO_REWARD] = {"Reward", 24},
    [MACRO_REWARD_MICROS] = {"RewardMicros", 24},
    [MACRO_REVENUE_AMOUNT] = {"RevenueAmount", 24},
    [MACRO_SESSION_ID] = {"SessionId", 3 * LIMIT_TEXT_BYTES},
    [MACRO_MID] = {"Mid", 3 * LIMIT_TEXT_BYTES},
    [MACRO_IS_TEST] = {"IsTest", 5},
    [MACRO_OFFER_ID] = {"OfferId", 16},
    [MACRO_OFFER_GOAL_ID] = {"OfferGoalId", 3 * LIMIT_TEXT_BYTES},
    [MACRO_OFFER_TITLE] = {"OfferTitle", 3 * LIMIT_TEXT_BYTES},
    [MACRO_ORIGINAL_REWARD_ID] = {"OriginalRewardId", 3 * LIMIT_EVENT_ID_BYTES},
    [MACRO_CLIENT_ID] = {"ClientId", LIMIT_ID_BYTES},
    [MACRO_TIMESTAMP] = {"Timestamp", 32},
    [MACRO_QUERY_SIGNATURE] = {QUERY_SIGNATURE, QUERY_SIGNATURE_BYTES},
};

bool url_macro_parse(struct str name, enum url_macro *ret_macro)
{
    for (int i = 0; i < URL_MACROS; i++) {
        if (!str_is(name, macros[i].name))
            continue;
        *ret_macro = (enum url_macro)i;
        return true;
    }
    return false;
}

/* The text between the brace at `open` and the next closing one; absent: there is none. */
static struct str name_at(struct str text, size_t open)
{
    const char *from = text.p + open + 1;
    const char *close = memchr(from, '}', text.n - open - 1);
    return close ? (struct str){from, (size_t)(close - from)} : STR_NONE;
}

size_t url_target_begin(struct str url)
{
    size_t at = 0;
    while (at + 3 <= url.n && memcmp(url.p + at, "://", 3) != 0)
        at++;
    for (at = at + 3 <= url.n ? at + 3 : 0; at < url.n; at++)
        if (url.p[at] == '/' || url.p[at] == '?')
            break;
    return at;
}

static void refuse_unknown(struct str name, struct buf *why)
{
    struct str shown = str_utf8_prefix(name, 40);
    buf_printf(why, "there is no macro {%.*s}; the macros are", STR_ARG(shown));
    for (int i = 0; i < URL_MACROS; i++)
        buf_printf(why, "%s {%s}", i ? "," : "", macros[i].name);
}

/* True if a macro after this text is part of the path, or of a parameter's value. */
static bool is_in_path_or_value(struct str before)
{
    bool is_value = true;
    const char *question = memchr(before.p, '?', before.n);
    for (const char *c = question; c && c < before.p + before.n; c++) {
        if (*c == '=')
            is_value = true;
        else if (*c == '&' || c == question)
            is_value = false;
    }
    return is_value;
}

/* True if it is the whole value of the last parameter: it signs the query before that parameter. */
static bool signature_is_last(struct str url, size_t open)
{
    const char *question = memchr(url.p, '?', open);
    return question && url.p[open - 1] == '=' && open + sizeof "{" QUERY_SIGNATURE "}" - 1 == url.n;
}

static bool signs_something(struct str url, size_t open)
{
    const char *question = memchr(url.p, '?', open);
    const char *parameter = memrchr(url.p, '&', open);
    return question && parameter > question + 1;
}

/* Appends what is wrong with the macro at `open`. */
static void check_place(struct str url, size_t open, enum url_macro macro, struct buf *why)
{
    if (open < url_target_begin(url))
        buf_printf(why,
                   "the macro {%s} is before the path; macros are allowed in the path and in "
                   "values of the query",
                   macros[macro].name);
    else if (!is_in_path_or_value((struct str){url.p, open}))
        buf_printf(why,
                   "the macro {%s} is in the name of a parameter; macros are allowed in its "
                   "value, as in ?uid={PanelistId}",
                   macros[macro].name);
    else if (macro == MACRO_QUERY_SIGNATURE &&
             (!signature_is_last(url, open) || !signs_something(url, open)))
        buf_add_c(why, "{" QUERY_SIGNATURE "} signs the query before it: it must be the value of "
                       "the last parameter and follow others, as in "
                       "?tx={RewardId}&sig={" QUERY_SIGNATURE "}");
}

/* Appends what is wrong with the brace at `at`; the macro has *ret_n bytes. */
static void check_brace(struct str url, size_t at, enum url_macro *ret_macro, size_t *ret_n,
                        struct buf *why)
{
    struct str name = url.p[at] == '{' ? name_at(url, at) : STR_NONE;
    *ret_n = name.n + 2;
    if (!name.p)
        buf_add_c(why, "a brace begins or ends a macro, such as {PanelistId}; write %7B and %7D "
                       "for other braces");
    else if (!url_macro_parse(name, ret_macro))
        refuse_unknown(name, why);
    else
        check_place(url, at, *ret_macro, why);
}

bool url_macros_check(struct str url, struct buf *why)
{
    size_t bytes_most = url.n, n = 1;
    int count = 0;
    if (url.n > LIMIT_URL_BYTES)
        return true; /* url_parse reports it; checking it would waste time */
    for (size_t at = 0; at < url.n && !why->n; at += n) {
        enum url_macro macro = MACRO_SIG;
        n = 1;
        if (url.p[at] != '{' && url.p[at] != '}')
            continue;
        check_brace(url, at, &macro, &n, why);
        size_t value = macros[macro].bytes_most;
        bytes_most += (memchr(url.p, '?', at) ? value : value / 3 * 5) - n;
        count++;
    }
    if (!why->n && count > LIMIT_URL_MACROS)
        buf_printf(why, "a URL has at most %d macros", LIMIT_URL_MACROS);
    else if (!why->n && bytes_most > LIMIT_URL_SENT_BYTES)
        buf_printf(why,
                   "with the longest possible values this URL would have %zu bytes, and at "
                   "most %d are allowed: use {SessionId}, {Mid}, {OfferTitle} and "
                   "{OfferGoalId} less often",
                   bytes_most, LIMIT_URL_SENT_BYTES);
    return why->n == 0;
}

/* Takes the text up to and with the next macro off `*rest`; false: there is none. */
static bool take_macro(struct str *rest, enum url_macro *ret_macro)
{
    while (rest->n > 0) {
        const char *open = memchr(rest->p, '{', rest->n);
        if (!open)
            return false;
        struct str name = name_at(*rest, (size_t)(open - rest->p));
        *rest = (struct str){open + 1, rest->n - (size_t)(open + 1 - rest->p)};
        if (name.p && url_macro_parse(name, ret_macro))
            return true;
    }
    return false;
}

bool url_has_macros(struct str target)
{
    enum url_macro macro;
    return take_macro(&target, &macro);
}

bool url_has_macro(struct str target, enum url_macro macro)
{
    enum url_macro found;
    while (take_macro(&target, &found))
        if (found == macro)
            return true;
    return false;
}

void url_encode(struct buf *to, struct str text)
{
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (char_is_letter_or_digit(text.p[i]) || char_in(text.p[i], "-._~")) {
            buf_add_char(to, text.p[i]);
        } else {
            buf_add_char(to, '%');
            buf_add_char(to, hex[c >> 4]);
            buf_add_char(to, hex[c & 15]);
        }
    }
}

/* Where the segments end that a server sees which decodes the path before it resolves "." and "..".
 * A slash is one of them as well on Windows, and servlet containers ignore what follows a ';'. */
#define DECODED_SLASHES "/\\;"

/* Takes what a server sees as one segment off `*rest`, with the slash behind it. Returns how many
 * dots it has if it is "." or "..", otherwise 0; *ret_slash is the rest from the slash on. */
static size_t take_step(struct str *rest, struct str *ret_slash)
{
    size_t bytes = 0, dots = 0;
    char c = '\0';
    *ret_slash = *rest;
    while (rest->n > 0) {
        if (!str_take_percent(rest, &c)) {
            c = rest->p[0];
            *rest = (struct str){rest->p + 1, rest->n - 1};
        }
        if (char_in(c, DECODED_SLASHES))
            break;
        *ret_slash = *rest;
        dots += c == '.';
        bytes++;
    }
    return dots == bytes && dots <= 2 ? dots : 0;
}

/* A value must not leave the folder that its URL names. Many servers decode the path, once, before
 * they resolve "." and "..". So this does the same with what would be sent of one segment, and
 * encodes the dots of each such step a second time. */
static void end_segment(struct buf *to, size_t begin)
{
    struct buf sent = {0};
    buf_add(&sent, to->p + begin, to->n - begin);
    to->n = begin;
    for (struct str rest = buf_str(&sent), slash, from; rest.n > 0;) {
        from = rest;
        size_t dots = take_step(&rest, &slash);
        if (dots > 0)
            from = slash;
        while (dots-- > 0)
            buf_add_c(to, "%252E");
        buf_add(to, from.p, (size_t)(rest.p - from.p));
    }
    buf_free(&sent);
}

bool url_macros_expand(struct buf *to, struct str target, const struct url_macro_values *values)
{
    const char *question = memchr(target.p, '?', target.n);
    const size_t path_n = question ? (size_t)(question - target.p) : target.n;
    size_t segment = to->n;
    bool has_macro = false;
    int count = 0;
    for (size_t at = 0; at <= target.n; at++) {
        enum url_macro macro = MACRO_SIG;
        if (at <= path_n && (at == path_n || target.p[at] == '/')) {
            if (has_macro)
                end_segment(to, segment);
            segment = to->n + 1;
            has_macro = false;
        }
        if (at == target.n)
            break;
        struct str name = target.p[at] == '{' ? name_at(target, at) : STR_NONE;
        if (!name.p || !url_macro_parse(name, &macro) || ++count > LIMIT_URL_MACROS) {
            buf_add_char(to, target.p[at]);
            continue;
        }
        if (macro == MACRO_QUERY_SIGNATURE && signature_is_last(target, at))
            return true;
        url_encode(to, values->of[macro]);
        has_macro = true;
        at += name.n + 1;
    }
    return false;
}
