/* Parses what clients accept. Invalid parts are ignored: an invalid weight counts as 0, and an
 * invalid element names nothing. */
#include "domain/negotiate.h"

#include <strings.h>

#define QUALITY_MOST 1000
/* The weight of identity if no element mentions it: below any named coding. */
#define QUALITY_LEAST 1

/* In an entity tag a backslash has no special meaning. */
static struct str cut_outside_quotes(struct str *rest, char sep, bool has_escapes)
{
    bool quoted = false;
    for (size_t i = 0; i < rest->n; i++) {
        char c = rest->p[i];
        if (c == '"')
            quoted = !quoted;
        else if (quoted && has_escapes && c == '\\')
            i++;
        else if (!quoted && c == sep) {
            struct str first = {rest->p, i};
            *rest = (struct str){rest->p + i + 1, rest->n - i - 1};
            return first;
        }
    }
    struct str all = *rest;
    *rest = STR_NONE;
    return all;
}

static struct str next_element(struct str *rest, bool has_escapes)
{
    while (rest->p) {
        struct str element = str_trim(cut_outside_quotes(rest, ',', has_escapes));
        if (element.n)
            return element;
    }
    return STR_NONE;
}

/* --- weights ---------------------------------------------------------------------------------- */

/* ( "0" [ "." 0*3DIGIT ] ) / ( "1" [ "." 0*3"0" ] ) */
static int parse_weight(struct str text)
{
    if (text.n == 0 || text.n > 5 || (text.p[0] != '0' && text.p[0] != '1') ||
        (text.n > 1 && text.p[1] != '.'))
        return 0;
    int weight = (text.p[0] - '0') * QUALITY_MOST, unit = QUALITY_MOST / 10;
    for (size_t i = 2; i < text.n; i++, unit /= 10) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return 0;
        weight += (text.p[i] - '0') * unit;
    }
    return weight <= QUALITY_MOST ? weight : 0;
}

/* The weight among an element's parameters; *ret_others: other parameters precede it. */
static int weight_of(struct str parameters, bool *ret_others)
{
    *ret_others = false;
    while (parameters.p) {
        struct str value = str_trim(cut_outside_quotes(&parameters, ';', true));
        struct str name = str_trim(str_cut(&value, '='));
        if (str_eq_nocase(name, "q"))
            return parse_weight(str_trim(value));
        *ret_others |= name.n > 0;
    }
    return QUALITY_MOST;
}

/* How closely a range names the type: see struct media_wish. */
static int range_names(struct str range, const char *type)
{
    if (str_eq_nocase(range, type))
        return 3;
    if (str_is(range, "*/*"))
        return 1;
    size_t kind = (size_t)(strchr(type, '/') - type) + 1; /* including the slash */
    bool is_kind =
        range.n == kind + 1 && range.p[kind] == '*' && strncasecmp(range.p, type, kind) == 0;
    return is_kind ? 2 : 0;
}

struct media_wish accept_media(struct str accept, const char *type)
{
    struct media_wish wish = {0, 0};
    if (!accept.p)
        return (struct media_wish){QUALITY_MOST, 1};
    for (struct str element; (element = next_element(&accept, true)).p;) {
        struct str parameters = element;
        int named = range_names(str_trim(cut_outside_quotes(&parameters, ';', true)), type);
        bool others;
        int quality = weight_of(parameters, &others);
        /* a range with parameters of its own, such as charset or header, also matches this type,
         * but one without takes precedence */
        if (named > wish.named || (named == wish.named && named && !others))
            wish = (struct media_wish){quality, named};
    }
    return wish;
}

bool accept_prefers(struct str accept, const char *first, const char *second)
{
    struct media_wish a = accept_media(accept, first), b = accept_media(accept, second);
    if (a.quality != b.quality)
        return a.quality > b.quality;
    return a.quality > 0 && a.named > b.named;
}

/* True for the registered name, and for the frequent misspelling; either may be quoted. */
static bool names_utf8(struct str charset)
{
    char name[8];
    size_t n = 0;
    for (size_t i = 0; i < charset.n; i++) {
        if (charset.p[i] == '"' || charset.p[i] == '\\')
            continue;
        if (n == sizeof name)
            return false;
        name[n++] = charset.p[i];
    }
    struct str plain = {name, n};
    return str_eq_nocase(plain, "utf-8") || str_eq_nocase(plain, "utf8");
}

bool media_is_utf8(struct str content_type)
{
    cut_outside_quotes(&content_type, ';', true);
    while (content_type.p) {
        struct str value = str_trim(cut_outside_quotes(&content_type, ';', true));
        struct str name = str_trim(str_cut(&value, '='));
        if (str_eq_nocase(name, "charset") && !names_utf8(str_trim(value)))
            return false;
    }
    return true;
}

/* --- codings ---------------------------------------------------------------------------------- */

struct coding_wishes {
    int zstd, gzip, identity, other; /* -1: not mentioned */
};

static struct coding_wishes coding_wishes(struct str accept_encoding)
{
    struct coding_wishes wishes = {-1, -1, -1, -1};
    for (struct str element; (element = next_element(&accept_encoding, true)).p;) {
        struct str parameters = element;
        struct str name = str_trim(cut_outside_quotes(&parameters, ';', true));
        bool others;
        int quality = weight_of(parameters, &others);
        if (str_eq_nocase(name, "gzip") || str_eq_nocase(name, "x-gzip"))
            wishes.gzip = quality;
        else if (str_eq_nocase(name, "zstd"))
            wishes.zstd = quality;
        else if (str_eq_nocase(name, "identity"))
            wishes.identity = quality;
        else if (str_is(name, "*"))
            wishes.other = quality;
    }
    if (wishes.gzip < 0)
        wishes.gzip = wishes.other > 0 ? wishes.other : 0;
    if (wishes.identity < 0)
        wishes.identity = wishes.other == 0 ? 0 : QUALITY_LEAST;
    return wishes;
}

const char *coding_name(enum coding coding)
{
    switch (coding) {
    case CODING_IDENTITY: return "identity";
    case CODING_GZIP: return "gzip";
    case CODING_ZSTD: return "zstd";
    case CODING_NONE: break;
    }
    UNREACHABLE();
}

/* "*" means gzip, which everybody reads who names no coding. */
enum coding accept_coding(struct str accept_encoding, bool has_zstd)
{
    if (!accept_encoding.p)
        return CODING_IDENTITY;
    struct coding_wishes wishes = coding_wishes(accept_encoding);
    if (has_zstd && wishes.zstd > 0 && wishes.zstd >= wishes.gzip && wishes.zstd >= wishes.identity)
        return CODING_ZSTD;
    if (wishes.gzip > 0 && wishes.gzip >= wishes.identity)
        return CODING_GZIP;
    return wishes.identity > 0 ? CODING_IDENTITY : CODING_NONE;
}

bool accept_refuses_identity(struct str accept_encoding)
{
    return accept_encoding.p && coding_wishes(accept_encoding).identity == 0;
}

/* --- entity tags ------------------------------------------------------------------------------ */

static struct str without_weak(struct str etag)
{
    return str_has_prefix(etag, "W/") ? (struct str){etag.p + 2, etag.n - 2} : etag;
}

bool etag_listed_strong(struct str list, struct str etag)
{
    if (str_is(str_trim(list), "*"))
        return true;
    for (struct str element; (element = next_element(&list, false)).p;)
        if (str_eq(element, etag) && !str_has_prefix(etag, "W/"))
            return true;
    return false;
}

bool etag_listed_weak(struct str list, struct str etag)
{
    if (str_is(str_trim(list), "*"))
        return true;
    for (struct str element; (element = next_element(&list, false)).p;)
        if (str_eq(without_weak(element), without_weak(etag)))
            return true;
    return false;
}
