/* Callback URLs and addresses from outside: what is taken has a host that cannot be read as
 * another one, its destination reads back as itself, and a mask never shows the password. */
#include "fuzz.h"

#include "base/limits.h"
#include "domain/url.h"

static void check_destination(struct arena *arena, const struct url *url)
{
    struct buf printed = {0}, again = {0};
    struct url back;
    const char *why = NULL;
    url_print_destination(&printed, url);
    ASSERT(url_parse(arena, buf_str(&printed), &back, &why));
    url_print_destination(&again, &back);
    ASSERT(str_eq(buf_str(&printed), buf_str(&again)));
    ASSERT(back.host_is_address == url->host_is_address);
    buf_free(&printed);
    buf_free(&again);
}

static void check_parts(const struct url *url)
{
    ASSERT(url->port > 0 && url->host.n > 0 && url->host.n <= 253);
    ASSERT(url->target.n > 0 && url->target.p[0] == '/');
    for (size_t i = 0; i < url->host.n; i++)
        ASSERT(strchr("/@?#\\% []", url->host.p[i]) == NULL);
    for (size_t i = 0; i < url->target.n; i++)
        ASSERT(url->target.p[i] > ' ' && url->target.p[i] != '#');
    if (url->userinfo.p)
        ASSERT(memchr(url->userinfo.p, ':', url->userinfo.n) != NULL);
}

static void check_mask(struct str text)
{
    struct buf masked = {0}, twice = {0};
    url_print_masked(&masked, text);
    url_print_masked(&twice, buf_str(&masked));
    ASSERT(str_eq(buf_str(&masked), buf_str(&twice)));
    buf_free(&masked);
    buf_free(&twice);
}

static void check_address(struct str text)
{
    struct address a, back;
    struct cidr c;
    if (cidr_parse(text, &c))
        ASSERT(cidr_covers(&c, &c.address));
    if (!address_parse(text, &a))
        return;
    struct buf printed = {0};
    address_print(&printed, &a);
    ASSERT(address_parse(buf_str(&printed), &back));
    ASSERT(back.family == a.family && memcmp(back.bytes, a.bytes, sizeof a.bytes) == 0);
    ASSERT(address_is_public(&a) == address_is_public(&back));
    buf_free(&printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct str text = {(const char *)data, data_bytes};
    struct arena arena = {0};
    struct url url;
    const char *why = NULL;
    if (url_parse(&arena, text, &url, &why)) {
        ASSERT(text.n <= LIMIT_URL_BYTES);
        check_parts(&url);
        check_destination(&arena, &url);
    } else {
        ASSERT(why != NULL);
    }
    check_mask(text);
    check_address(text);
    arena_free(&arena);
    return 0;
}
