/* A callback URL and, behind 0xff, a value for all of its macros: what is sent instead of a URL
 * that may be set has the same parts as the URL, whatever the value is. */
#include "fuzz.h"

#include "base/limits.h"
#include "domain/url.h"
#include "domain/url_macros.h"

struct parts {
    size_t segments, parameters;
};

static struct parts count(struct str target)
{
    struct parts found = {0};
    const char *question = memchr(target.p, '?', target.n);
    for (const char *c = target.p; c < target.p + target.n; c++) {
        bool in_path = !question || c < question;
        found.segments += in_path && *c == '/';
        found.parameters += !in_path && (*c == '&' || *c == '=');
    }
    return found;
}

/* As a server counts that decodes a path before it resolves steps. */
static size_t count_steps(struct str target)
{
    size_t steps = 0;
    struct str path = str_cut(&target, '?');
    struct buf decoded = {0};
    for (size_t i = 0; i < path.n; i++) {
        bool is_slash =
            path.n - i >= 3 && memcmp(path.p + i, "%2", 2) == 0 && (path.p[i + 2] | 0x20) == 'f';
        bool is_dot =
            path.n - i >= 3 && memcmp(path.p + i, "%2", 2) == 0 && (path.p[i + 2] | 0x20) == 'e';
        buf_add_char(&decoded, is_slash ? '/' : is_dot ? '.' : path.p[i]);
        i += is_slash || is_dot ? 2 : 0;
    }
    for (struct str rest = buf_str(&decoded); rest.p;) {
        struct str segment = str_cut(&rest, '/');
        steps += str_is(segment, ".") || str_is(segment, "..");
    }
    buf_free(&decoded);
    return steps;
}

static void check_sent(struct str target, struct str value)
{
    struct url_macro_values values;
    struct buf sent = {0};
    for (int i = 0; i < URL_MACROS; i++)
        values.of[i] = value;
    (void)url_macros_expand(&sent, target, &values);
    struct parts before = count(target), after = count(buf_str(&sent));
    ASSERT(before.segments == after.segments && before.parameters == after.parameters);
    ASSERT(count_steps(buf_str(&sent)) <= count_steps(target));
    for (size_t i = 0; i < sent.n; i++)
        ASSERT(sent.p[i] > ' ' && sent.p[i] < 0x7f && !strchr("#{}", sent.p[i]));
    buf_free(&sent);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct str value = {(const char *)data, data_bytes};
    struct str text = str_cut(&value, (char)0xff);
    struct arena arena = {0};
    struct buf macros_why = {0};
    struct url url;
    const char *why = NULL;
    bool good = url_macros_check(text, &macros_why);
    ASSERT(good == (macros_why.n == 0));
    if (good && url_parse(&arena, text, &url, &why))
        check_sent(url.target, value);
    buf_free(&macros_why);
    arena_free(&arena);
    return 0;
}
