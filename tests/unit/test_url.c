/* Callback URLs: what is taken, what is refused and why, and what is shown. */
#include "domain/url.h"

#include "base/limits.h"

#include "check.h"

#include <arpa/inet.h>

static struct arena arena;

static bool parse(const char *text, struct url *ret)
{
    const char *why = NULL;
    bool good = url_parse(&arena, str_of(text), ret, &why);
    if (!good)
        printf("    \"%s\": %s\n", text, why);
    return good;
}

static void check_url(const char *text, const char *destination, const char *target)
{
    struct url url;
    struct buf b = {0};
    if (!CHECK(parse(text, &url)))
        return;
    url_print_destination(&b, &url);
    CHECK_STR(b, destination);
    CHECK_STR(url.target, target);
    buf_free(&b);
}

static void takes_urls_apart(void)
{
    check_url("https://example.com", "https://example.com:443", "/");
    check_url("http://example.com", "http://example.com:80", "/");
    check_url("HTTPS://Example.COM/Path", "https://example.com:443", "/Path");
    check_url("https://example.com:8443/a/b?c=d&e=%20f", "https://example.com:8443",
              "/a/b?c=d&e=%20f");
    check_url("https://example.com?c=d", "https://example.com:443", "/?c=d");
    check_url("https://example.com/?", "https://example.com:443", "/?");
    check_url("https://example.com:/x", "https://example.com:443", "/x");
    check_url("https://example.com:00080/x", "https://example.com:80", "/x");
    check_url("https://example.com./x", "https://example.com:443", "/x");
    check_url("https://a_b-c.xn--d1acufc.example/{id}|\\", "https://a_b-c.xn--d1acufc.example:443",
              "/{id}|\\");
    check_url("http://a/x@y:z", "http://a:80", "/x@y:z");
    check_url("http://198.51.100.7:81/", "http://198.51.100.7:81", "/");
    check_url("http://[2001:DB8:0:0::1]:81/x", "http://[2001:db8::1]:81", "/x");
    check_url("http://[::ffff:198.51.100.7]", "http://[::ffff:198.51.100.7]:80", "/");
    check_url("http://123.example/", "http://123.example:80", "/");
    check_url("http://0x7f.example/", "http://0x7f.example:80", "/");
    check_url("http://1.2.3.4.example/", "http://1.2.3.4.example:80", "/");
}

static void knows_addresses(void)
{
    struct url url;
    CHECK(parse("http://198.51.100.7/", &url));
    CHECK(url.host_is_address && !url.host_is_ipv6);
    CHECK_EQ_INT(url.address.family, AF_INET);
    CHECK_BYTES(url.address.bytes, 4, "\xc6\x33\x64\x07", 4);
    CHECK(parse("http://[fe80::1]/", &url));
    CHECK(url.host_is_address && url.host_is_ipv6);
    CHECK_STR(url.host, "fe80::1");
    CHECK(parse("http://example.com/", &url));
    CHECK(!url.host_is_address);
    CHECK(!url.userinfo.p);
}

static void reads_userinfo(void)
{
    static const struct {
        const char *url, *userinfo;
    } rows[] = {
        {"https://user:pass@example.com/", "user:pass"},
        {"https://user@example.com/", "user:"},
        {"https://user:@example.com/", "user:"},
        {"https://us%40er:p%3Aa%2Fs%25@example.com/", "us@er:p:a/s%"},
        {"https://u:a:b@example.com/", "u:a:b"},
        {"https://u:%C3%BC@example.com/", "u:\xc3\xbc"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct url url;
        if (!CHECK(parse(rows[i].url, &url)))
            continue;
        CHECK_STR(url.userinfo, rows[i].userinfo);
        CHECK_STR(url.host, "example.com");
    }
}

static void refuses(const char *text, const char *why_part)
{
    struct url untouched = {.port = 4242};
    const char *why = "";
    if (!CHECK(!url_parse(&arena, str_of(text), &untouched, &why)) ||
        !CHECK(strstr(why, why_part) != NULL))
        printf("    for \"%s\": %s\n", text, why);
    CHECK_EQ_INT(untouched.port, 4242);
}

static void refuses_what_is_no_callback_url(void)
{
    static const char *const schemes[] = {"",
                                          "example.com",
                                          "ftp://example.com/",
                                          "//example.com/",
                                          "https:/example.com",
                                          "https:example.com",
                                          "javascript:alert(1)",
                                          "file:///etc/passwd",
                                          "http:///x/"};
    for (size_t i = 0; i + 1 < ARRAY_LEN(schemes); i++)
        refuses(schemes[i], "begins with");
    refuses(schemes[ARRAY_LEN(schemes) - 1], "host");
    refuses("https://", "host");
    refuses("https://example.com/#top", "fragment");
    refuses("https://example.com#", "fragment");
    refuses("https://example.com/a b", "spaces");
    refuses(" https://example.com/", "spaces");
    refuses("https://example.com/\r\nX: y", "control");
    refuses("https://example.com/\x7f", "control");
    refuses("https://b\xc3\xbc"
            "cher.example/",
            "ASCII");
    refuses("https://example.com/\xc3\xbc", "ASCII");
    refuses("https://exam%70le.com/", "host");
    refuses("https://example..com/", "host");
    refuses("https://.example.com/", "host");
    refuses("https://example.com../", "host");
    refuses("https://exa mple.com/", "spaces");
    refuses("https://a\\b/", "host");
    refuses("https://a,b/", "host");
    refuses("https://a:b/", "port");
    refuses("https://a:0/", "port");
    refuses("https://a:65536/", "port");
    refuses("https://a:99999999999999999999/", "port");
    refuses("https://a:-1/", "port");
    refuses("https://a:80:80/", "port");
}

static void refuses_odd_userinfo(void)
{
    refuses("https://@example.com/", "no user");
    refuses("https://:pass@example.com/", "no user");
    refuses("https://a@b@example.com/", "one @");
    refuses("https://example.com\\@evil.example/", "percent-encode");
    refuses("https://us%3aer:x@example.com/", "no colon");
    refuses("https://u:%0a@example.com/", "control");
    refuses("https://u:%0@example.com/", "hexadecimal");
    refuses("https://u:%@example.com/", "hexadecimal");
    refuses("https://u:%zz@example.com/", "hexadecimal");
    refuses("https://u:<>@example.com/", "percent-encode");
}

static void refuses_other_spellings_of_ipv4(void)
{
    static const char *const hosts[] = {
        "2130706433",   "127.1",
        "127.0.1",      "0x7f000001",
        "0x7f.0.0.1",   "0177.0.0.1",
        "127.0.0.01",   "127.0.0.1.",
        "127.0.0.0x1",  "0x",
        "1.2.3.4.5",    "256.1.1.1",
        "1.2.3.256",    "0",
        "example.1",    "example.0x1f",
        "1.2.3",        "00000177.0.0.1",
        "1.2.3.4.0x",   "0X7F.1",
        "017700000001", "99999999999999999999",
    };
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        char url[128];
        snprintf(url, sizeof url, "http://%s/x", hosts[i]);
        refuses(url, "four decimal numbers");
    }
}

static void refuses_odd_ipv6(void)
{
    static const char *const hosts[] = {"[]",           "[::1%25eth0]", "[::1%eth0]", "[127.0.0.1]",
                                        "[v1.fe80::1]", "[::1::1]",     "[12345::]",  "[:]"};
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        char url[128];
        snprintf(url, sizeof url, "http://%s/", hosts[i]);
        refuses(url, "IPv6");
    }
    refuses("http://[::1/", "ends with ]");
    refuses("http://[::1]x/", "after the host");
    refuses("http://::1/", "host");
}

static void bounds_the_length(void)
{
    char text[LIMIT_URL_BYTES + 2];
    memset(text, 'a', sizeof text);
    memcpy(text, "https://example.com/", 20);
    struct url url;
    const char *why = NULL;
    CHECK(url_parse(&arena, (struct str){text, LIMIT_URL_BYTES}, &url, &why));
    CHECK(!url_parse(&arena, (struct str){text, LIMIT_URL_BYTES + 1}, &url, &why));
    char host[400];
    memset(host, 'a', sizeof host);
    memcpy(host, "https://", 8);
    CHECK(url_parse(&arena, (struct str){host, 8 + 63}, &url, &why));
    CHECK(!url_parse(&arena, (struct str){host, 8 + 64}, &url, &why));
    for (size_t i = 8 + 50; i < sizeof host; i += 51)
        host[i] = '.';
    CHECK(url_parse(&arena, (struct str){host, 8 + 253}, &url, &why));
    CHECK(!url_parse(&arena, (struct str){host, 8 + 254}, &url, &why));
}

static void masks_userinfo(void)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"https://user:pass@example.com/x?y", "https://***:***@example.com/x?y"},
        {"https://user@example.com", "https://***:***@example.com"},
        {"https://a:b@c@example.com/", "https://***:***@example.com/"},
        {"https://example.com/a@b?c=d@e", "https://example.com/a@b?c=d@e"},
        {"https://example.com?c=d@e", "https://example.com?c=d@e"},
        {"user:pass@example.com/", "***:***@example.com/"},
        {"//user:pass@example.com/", "//***:***@example.com/"},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf b = {0};
        buf_add_c(&b, "");
        url_print_masked(&b, str_of(rows[i].text));
        CHECK_STR(b, rows[i].want);
        buf_clear(&b);
        CHECK(str_eq(url_masked(str_of(rows[i].text), &b), str_of(rows[i].want)));
        buf_free(&b);
    }
}

static void masks_userinfo_in_texts(void)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"Location: https://u:p@a.example/x@y\nServer: b@c\n",
         "Location: https://***:***@a.example/x@y\nServer: b@c\n"},
        {"Location: //u@a.example\nLink: <https://x.example/>; rel=a, <http://u:p@b.example>\n",
         "Location: //***:***@a.example\nLink: <https://x.example/>; rel=a, "
         "<http://***:***@b.example>\n"},
        {"https://a.example/?next=https://u:p,;'@b.example", "https://a.example/?next="
                                                             "https://***:***@b.example"},
        {"https://a:b@c@d.example", "https://***:***@d.example"},
        {"a@b //", "a@b //"},
        {"///u:p@x", "///***:***@x"},
        {"/", "/"},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf b = {0};
        buf_add_c(&b, "");
        url_print_text_masked(&b, str_of(rows[i].text));
        CHECK_STR(b, rows[i].want);
        buf_free(&b);
    }
}

int main(void)
{
    RUN(takes_urls_apart);
    RUN(knows_addresses);
    RUN(reads_userinfo);
    RUN(refuses_what_is_no_callback_url);
    RUN(refuses_odd_userinfo);
    RUN(refuses_other_spellings_of_ipv4);
    RUN(refuses_odd_ipv6);
    RUN(bounds_the_length);
    RUN(masks_userinfo);
    RUN(masks_userinfo_in_texts);
    arena_free(&arena);
    return check_done("url");
}
