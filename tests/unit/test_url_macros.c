/* Which macros a URL may have, and what stands in their place. */
#include "domain/url_macros.h"

#include "base/limits.h"

#include "check.h"

#include <ctype.h>
#include <stdlib.h>

/* `why` is how the sentence has to go on somewhere; NULL: the URL is good. */
static void check(const char *url, const char *why)
{
    struct buf said = {0};
    bool good = url_macros_check(str_of(url), &said);
    if (!CHECK_EQ_INT(good, why == NULL) || !CHECK(!why || strstr(buf_c(&said), why)))
        printf("    for %s: %s\n", url, buf_c(&said));
    buf_free(&said);
}

static void macros_stand_in_path_and_values(void)
{
    check("https://h", NULL);
    check("https://h/a?b=c", NULL);
    check("https://h/u/{PanelistId}?r={Reward}&m={RewardMicros}&s={Sig}", NULL);
    check("https://h/{PanelistId}-{RewardId}.php?a=x{RewardType}y", NULL);
    check("https://h/a?u=http://x?y={RewardId}", NULL);
    check("https://h/%7BReward%7D", NULL);
    check("https://h?u={SessionId}", NULL);
    check("https://{PanelistId}/a", "is before the path");
    check("https://h{PanelistId}", "is before the path");
    check("https://u:{Sig}@h/a", "is before the path");
    check("https://h:{OfferId}/", "is before the path");
    check("{RewardType}://h/a", "is before the path");
    check("https://h/a?{PanelistId}", "in the name of a parameter");
    check("https://h/a?x=1&{PanelistId}=2", "in the name of a parameter");
}

static void other_braces_are_refused(void)
{
    check("https://h/{Foo}", "there is no macro {Foo}; the macros are {Sig}, {PanelistId}");
    check("https://h/{panelistid}", "there is no macro {panelistid}");
    check("https://h/{}", "there is no macro {}");
    check("https://h/{{Sig}}", "there is no macro {{Sig}");
    check("https://h/{Sig", "write %7B and %7D");
    check("https://h/Sig}", "write %7B and %7D");
    check("https://h/{Sig}}", "write %7B and %7D");
}

static void the_query_signature_ends_the_query(void)
{
    check("https://h/a?u={PanelistId}&s={QuerySignature}", NULL);
    check("https://h/a?s={QuerySignature}", "signs the query before it");
    check("https://h/a?&s={QuerySignature}", "signs the query before it");
    check("https://h/a?u=1&s={QuerySignature}&t=1", "signs the query before it");
    check("https://h/a?u=1&s=x{QuerySignature}", "signs the query before it");
    check("https://h/a?u=1&s={QuerySignature}x", "signs the query before it");
    check("https://h/a/{QuerySignature}", "signs the query before it");
}

static void what_is_sent_has_a_bound(void)
{
    struct buf url = {0}, why = {0};
    buf_add_c(&url, "https://h/{Sig}?a={PanelistId}{RewardType}{RewardId}{Reward}{RewardMicros}"
                    "{RevenueAmount}{SessionId}{Mid}{IsTest}{OfferId}{OfferGoalId}{OfferTitle}"
                    "{OriginalRewardId}{ClientId}{Timestamp}&b=");
    while (url.n < LIMIT_URL_BYTES - 20)
        buf_add_char(&url, 'x');
    buf_add_c(&url, "&s={QuerySignature}"); /* each of them once always fits */
    CHECK(url_macros_check(buf_str(&url), &why));
    buf_clear(&url);
    buf_add_c(&url, "https://h/?a=");
    for (int i = 0; i < 6; i++)
        buf_add_c(&url, "{OfferTitle}");
    CHECK(!url_macros_check(buf_str(&url), &why) && strstr(buf_c(&why), "most 16384 are allowed"));
    buf_clear(&url);
    buf_clear(&why);
    buf_add_c(&url, "https://h/?a=");
    for (int i = 0; i <= LIMIT_URL_MACROS; i++)
        buf_add_c(&url, "{OfferId}");
    CHECK(!url_macros_check(buf_str(&url), &why) && strstr(buf_c(&why), "at most 32 macros"));
    buf_free(&url);
    buf_free(&why);
}

static void expand(const char *target, const char *panelist, const char *wanted)
{
    struct url_macro_values values = {.of[MACRO_PANELIST_ID] = str_of(panelist),
                                      .of[MACRO_REWARD] = STR("1.50")};
    struct buf said = {0};
    (void)url_macros_expand(&said, str_of(target), &values);
    CHECK_CSTR(buf_c(&said), wanted);
    buf_free(&said);
}

static void values_are_encoded_in_path_and_query(void)
{
    expand("/u/{PanelistId}?u={PanelistId}&r={Reward}", "a b/ü?&=+#%",
           "/u/a%20b%2F%C3%BC%3F%26%3D%2B%23%25?u=a%20b%2F%C3%BC%3F%26%3D%2B%23%25&r=1.50");
    expand("/?u={PanelistId}", "Az09-._~", "/?u=Az09-._~");
    expand("/?u={PanelistId}", "\r\n{Reward}", "/?u=%0D%0A%7BReward%7D");
    expand("/?t={SessionId}&u=", "x", "/?t=&u="); /* the event has none */
    expand("/%7BReward%7D/%20", "x", "/%7BReward%7D/%20");
    expand("/{Foo}/{", "x", "/{Foo}/{"); /* set before there were macros */
}

static void no_value_is_a_step_in_the_path(void)
{
    expand("/a/{PanelistId}/b", "..", "/a/%252E%252E/b");
    expand("/a/{PanelistId}?c", ".", "/a/%252E?c");
    expand("/a/{PanelistId}", "..", "/a/%252E%252E");
    expand("/a/.{PanelistId}", ".", "/a/%252E%252E");
    expand("/a/%2e{PanelistId}", ".", "/a/%252E%252E");
    expand("/a/{PanelistId}", "...", "/a/...");
    expand("/a/u{PanelistId}", "..", "/a/u..");
    expand("/a/../{PanelistId}", "x", "/a/../x"); /* the URL's own */
    expand("/a?u={PanelistId}", "..", "/a?u=..");
    expand("/a?u={PanelistId}", "../b", "/a?u=..%2Fb");
    expand("/a/{PanelistId}", "../b", "/a/%252E%252E%2Fb");
    expand("/a/{PanelistId}", "b/.", "/a/b%2F%252E");
    expand("/a/{PanelistId}", "b/.../.c/d.", "/a/b%2F...%2F.c%2Fd.");
    expand("/a/{PanelistId}", "..\\b", "/a/%252E%252E%5Cb");
    expand("/a/{PanelistId}", "..;/b", "/a/%252E%252E%3B%2Fb");
    expand("/a/..%2Fb", "x", "/a/..%2Fb"); /* the URL's own */
}

/* What nginx makes of a path: it decodes once, and then resolves steps and merges slashes. */
static void resolve_as_nginx(struct str sent, struct buf *ret)
{
    struct buf decoded = {0};
    for (size_t i = 0; i < sent.n; i++) {
        char hex[3] = {0};
        if (sent.p[i] == '%' && i + 2 < sent.n && isxdigit((unsigned char)sent.p[i + 1]) &&
            isxdigit((unsigned char)sent.p[i + 2])) {
            memcpy(hex, sent.p + i + 1, 2);
            i += 2;
        }
        buf_add_char(&decoded, hex[0] ? (char)strtol(hex, NULL, 16) : sent.p[i]);
    }
    for (struct str rest = buf_str(&decoded); rest.p;) {
        struct str segment = str_cut(&rest, '/');
        if (str_is(segment, "..")) {
            while (ret->n > 0 && ret->p[--ret->n] != '/')
                ;
        } else if (segment.n > 0 && !str_is(segment, ".")) {
            buf_add_char(ret, '/');
            buf_add_str(ret, segment);
        }
    }
    buf_free(&decoded);
}

static void no_value_leads_elsewhere_once_decoded(void)
{
    static const char *const targets[] = {
        "/cb/{PanelistId}",       "/cb/{PanelistId}/x",        "/cb/{PanelistId}?a=1",
        "/cb/.{PanelistId}",      "/cb/..{PanelistId}",        "/cb/%2e{PanelistId}",
        "/cb/{PanelistId}.",      "/cb/{PanelistId}..",        "/cb/{PanelistId}%2E/x",
        "/cb/x%2F{PanelistId}",   "/cb/x%2F.{PanelistId}",     "/cb/{PanelistId}%2F..",
        "/cb/%{PanelistId}..",    "/cb/{PanelistId}{Reward}",  "/cb/{PanelistId}{PanelistId}",
        "/cb/.%2{PanelistId}%2F", "/cb/{SessionId}.{Mid}.%2f",
    };
    static const char *const values[] = {
        "",          ".",   "..",        "../admin", "x/../../admin/credit",
        "/../admin", "/..", "./..",      "/../../",  "..//../adm",
        "x/..",      "../", "/",         "/.",       "2F../",
        "2F..",      "E",   "E/../../a", "..\\..",   "2f..%2F"};
    for (size_t t = 0; t < ARRAY_LEN(targets); t++) {
        for (size_t v = 0; v < ARRAY_LEN(values); v++) {
            struct url_macro_values of = {.of[MACRO_PANELIST_ID] = str_of(values[v]),
                                          .of[MACRO_REWARD] = STR("1")};
            struct buf sent = {0}, path = {0};
            (void)url_macros_expand(&sent, str_of(targets[t]), &of);
            struct str rest = buf_str(&sent);
            resolve_as_nginx(str_cut(&rest, '?'), &path);
            if (!CHECK(path.n >= 3 && memcmp(path.p, "/cb", 3) == 0))
                printf("    %s of %s is %s\n", values[v], targets[t], buf_c(&sent));
            buf_free(&sent);
            buf_free(&path);
        }
    }
}

static void the_target_begins_behind_the_authority(void)
{
    static const struct {
        const char *url, *target;
    } rows[] = {{"https://h/a", "/a"},
                {"https://h?a", "?a"},
                {"https://h", ""},
                {"https://***:***@h:1/a?b=http://x/", "/a?b=http://x/"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        CHECK_CSTR(rows[i].url + url_target_begin(str_of(rows[i].url)), rows[i].target);
}

int main(void)
{
    RUN(macros_stand_in_path_and_values);
    RUN(other_braces_are_refused);
    RUN(the_query_signature_ends_the_query);
    RUN(what_is_sent_has_a_bound);
    RUN(values_are_encoded_in_path_and_query);
    RUN(no_value_is_a_step_in_the_path);
    RUN(no_value_leads_elsewhere_once_decoded);
    RUN(the_target_begins_behind_the_authority);
    return check_done("url_macros");
}
