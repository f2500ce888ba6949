/* Callback URLs: which may be configured, and their parts. RFC 3986, http and https only. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "domain/address.h"

struct url {
    bool https;
    struct str host; /* without brackets; lower case */
    bool host_is_ipv6;
    bool host_is_address; /* dotted quad or IPv6 literal: `address` */
    struct address address;
    uint16_t port;
    struct str target;   /* path and query as given; "/" if empty */
    struct str userinfo; /* percent-decoded "user:password"; absent if there is none */
};

/* Copies into the arena. On failure *ret_why says what is wrong and how to fix it: the scheme, more
 * than 2,048 bytes, a fragment, control characters or spaces, another spelling of an IPv4 address,
 * a bad port. */
MUST_CHECK bool url_parse(struct arena *arena, struct str text, struct url *ret_url,
                          const char **ret_why);
void url_print_host(struct buf *to, const struct url *url);        /* an IPv6 address in brackets */
void url_print_destination(struct buf *to, const struct url *url); /* scheme://host:port */
/* The URL with userinfo as "***:***@"; for logs and answers. */
#define URL_MASK "***:***"
void url_print_masked(struct buf *to, struct str text);
/* The same, printed into the caller's empty buffer only if something must be masked. */
struct str url_masked(struct str text, struct buf *room);
/* Whether `given` is what url_masked makes of `current`. False if that is absent. */
bool url_is_masked_form_of(struct str given, struct str current);
/* True if the URL is a masked one that was sent back: the mask is never a password. */
bool url_is_masked(const struct url *url);
#define URL_MASKED_WHY "\"" URL_MASK "\" hides a user and a password; give them in full"
/* Masks every userinfo in any text, such as header lines: everything between "//" and an "@" of the
 * same authority. In doubt it masks too much. */
void url_print_text_masked(struct buf *to, struct str text);
