/* Finds the client's address behind trusted proxies. Internal to http/. */
#pragma once

#include "http/server.h"

/* Sets r->peer and r->secure. */
void forwarded_resolve(struct http_request *r, const struct cidr *trusted, size_t trusted_count);
bool forwarded_trusts(const struct cidr *trusted, size_t count, const struct address *a);
