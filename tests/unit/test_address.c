/* Addresses: one spelling each, and every range that is not public, with both its ends. */
#include "domain/address.h"

#include "check.h"

static struct address address(const char *text)
{
    struct address a = {.family = AF_INET};
    if (!CHECK(address_parse(str_of(text), &a)))
        printf("    for \"%s\"\n", text);
    return a;
}

static void reads_and_prints(void)
{
    static const char *const same[] = {
        "0.0.0.0", "255.255.255.255",        "10.20.30.40",   "::",
        "::1",     "2001:db8::ff00:42:8329", "fe80::1:2:3:4", "::ffff:1.2.3.4"};
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        struct address a = address(same[i]);
        struct buf b = {0};
        address_print(&b, &a);
        CHECK_STR(b, same[i]);
        buf_free(&b);
    }
}

static void refuses_other_spellings(void)
{
    static const char *const bad[] = {
        "",
        "1",
        "127.1",
        "1.2.3",
        "1.2.3.4.5",
        "01.2.3.4",
        "1.2.3.04",
        "256.2.3.4",
        "1.2.3.1000",
        "0x7f.0.0.1",
        " 1.2.3.4",
        "1.2.3.4 ",
        "1.2.3.",
        ".1.2.3",
        "1..2.3",
        "+1.2.3.4",
        "1.2.3.4/8",
        "::1%lo",
        "[::1]",
        ":::1",
        "1:2:3:4:5:6:7:8:9",
        "g::",
        "::01.2.3.4",
        "localhost",
        "00.0.0.0",
        "1:2:3:4:5:6:7:8:9:0:1:2:3:4:5:6:7:8:9:0:1:2:3:4:5:6:7:8",
    };
    struct address untouched = {.family = 42};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (!CHECK(!address_parse(str_of(bad[i]), &untouched)))
            printf("    for \"%s\"\n", bad[i]);
    CHECK(!address_parse((struct str){"::1\0x", 5}, &untouched));
    CHECK(!address_parse(STR_NONE, &untouched));
    CHECK_EQ_INT(untouched.family, 42);
}

static void check_public(const char *text, bool want)
{
    struct address a = address(text);
    if (!CHECK_EQ_INT(address_is_public(&a), want))
        printf("    for %s\n", text);
}

static void special_ipv4_is_not_public(void)
{
    /* first and last of each range, and what lies just outside */
    static const struct {
        const char *below, *first, *last, *above;
    } rows[] = {
        {NULL, "0.0.0.0", "0.255.255.255", "1.0.0.0"},
        {"9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"},
        {"100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"},
        {"126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"},
        {"168.63.129.15", "168.63.129.16", "168.63.129.16", "168.63.129.17"},
        {"169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"},
        {"172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"},
        {"191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"},
        {"192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"},
        {"192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0"},
        {"192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"},
        {"198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"},
        {"198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"},
        {"203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0"},
        {"223.255.255.255", "224.0.0.0", "255.255.255.255", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].below)
            check_public(rows[i].below, true);
        check_public(rows[i].first, false);
        check_public(rows[i].last, false);
        if (rows[i].above)
            check_public(rows[i].above, true);
    }
    check_public("169.254.169.254", false);
    check_public("100.100.100.200", false);
    check_public("240.0.0.1", false);
    check_public("8.8.8.8", true);
    check_public("192.31.196.1", true);
    check_public("192.52.193.1", true);
    check_public("192.175.48.1", true);
}

static void special_ipv6_is_not_public(void)
{
    static const char *const refused[] = {
        "::",
        "::1",
        "::2",
        "::8.8.8.8", /* IPv4-compatible, deprecated */
        "64:ff9b:1::1",
        "64:ff9b:1:ffff:ffff:ffff:808:808",
        "64:ff9b::1:808:808", /* beside the /96 */
        "100::",
        "100::ffff:ffff:ffff:ffff",
        "100:0:0:1::1",
        "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "2001::",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2", /* Teredo */
        "2001:0:808:808:0:ffff:f7f7:f7f7",
        "2001:1::1",
        "2001:2::1",
        "2001:3::1",
        "2001:4:112::1",
        "2001:10::1",
        "2001:20::1",
        "2001:30::1",
        "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
        "2001:db8::",
        "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
        "3fff::",
        "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
        "4000::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "fe80::1",
        "febf::1",
        "fec0::1",
        "ff02::1",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    };
    static const char *const allowed[] = {
        "2000::1", "2001:200::1",          "2001:db7:ffff::1", "2001:db9::1",
        "2003::1", "2606:4700::6810:84e5", "2620:4f:8000::1",  "2a00:1450:4001:800::200e",
        "3ffe::1", "3fff:1000::1",
    };
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        check_public(refused[i], false);
    for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
        check_public(allowed[i], true);
}

/* The v4 inside counts: these reach it, or a gateway that does. */
static void embedded_ipv4_is_seen(void)
{
    static const struct {
        const char *v4, *hex;
        bool is_public;
    } rows[] = {
        {"127.0.0.1", "7f00:1", false},
        {"10.0.0.1", "a00:1", false},
        {"169.254.169.254", "a9fe:a9fe", false},
        {"192.168.1.1", "c0a8:101", false},
        {"0.0.0.0", "0:0", false},
        {"224.0.0.1", "e000:1", false},
        {"100.64.0.1", "6440:1", false},
        {"8.8.8.8", "808:808", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[64];
        snprintf(text, sizeof text, "::ffff:%s", rows[i].v4);
        check_public(text, rows[i].is_public);
        snprintf(text, sizeof text, "64:ff9b::%s", rows[i].v4);
        check_public(text, rows[i].is_public);
        snprintf(text, sizeof text, "2002:%s::1", rows[i].hex);
        check_public(text, rows[i].is_public);
    }
}

static bool covers(const char *range, const char *text)
{
    struct cidr c;
    struct address a = address(text);
    return CHECK(cidr_parse(str_of(range), &c)) && cidr_covers(&c, &a);
}

static void cidrs_cover(void)
{
    CHECK(covers("127.0.0.0/8", "127.0.0.1"));
    CHECK(covers("127.0.0.0/8", "127.255.255.255"));
    CHECK(!covers("127.0.0.0/8", "128.0.0.0"));
    CHECK(covers("127.0.0.0/8", "::ffff:127.0.0.1"));
    CHECK(!covers("127.0.0.0/8", "::1"));
    CHECK(covers("10.1.2.3/32", "10.1.2.3"));
    CHECK(!covers("10.1.2.3/32", "10.1.2.2"));
    CHECK(covers("10.1.2.3", "10.1.2.3"));
    CHECK(!covers("10.1.2.3", "10.1.2.4"));
    CHECK(covers("10.1.2.3/31", "10.1.2.2"));
    CHECK(covers("172.16.0.0/12", "172.31.255.255"));
    CHECK(!covers("172.16.0.0/12", "172.32.0.0"));
    CHECK(covers("0.0.0.0/0", "255.255.255.255"));
    CHECK(!covers("0.0.0.0/0", "2001:db8::1"));
    CHECK(covers("fd00::/8", "fdff::1"));
    CHECK(!covers("fd00::/8", "fc00::1"));
    CHECK(covers("2001:db8::/33", "2001:db8:7fff::1"));
    CHECK(!covers("2001:db8::/33", "2001:db8:8000::1"));
    CHECK(covers("::1", "::1"));
    CHECK(covers("::/0", "fe80::1"));
    CHECK(!covers("::/0", "10.0.0.1"));
}

static void refuses_odd_cidrs(void)
{
    static const char *const bad[] = {"",
                                      "/8",
                                      "10.0.0.0/",
                                      "10.0.0.0/33",
                                      "10.0.0.0/-1",
                                      "10.0.0.0/08",
                                      "10.0.0.0/8 ",
                                      "10.0.0.0/8/8",
                                      "10.0.0/8",
                                      "::/129",
                                      "::/1a",
                                      "10.0.0.0/255.0.0.0",
                                      "localhost/8",
                                      "10.0.0.0/99999999999"};
    struct cidr untouched = {.bits = 42};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (!CHECK(!cidr_parse(str_of(bad[i]), &untouched)))
            printf("    for \"%s\"\n", bad[i]);
    CHECK_EQ_INT(untouched.bits, 42);
}

int main(void)
{
    RUN(reads_and_prints);
    RUN(refuses_other_spellings);
    RUN(special_ipv4_is_not_public);
    RUN(special_ipv6_is_not_public);
    RUN(embedded_ipv4_is_seen);
    RUN(cidrs_cover);
    RUN(refuses_odd_cidrs);
    return check_done("address");
}
