/* The grammar of a request's head, by llhttp. Only grammar.c sees llhttp: its names and ours for
 * methods collide, and its version differs between systems. */
#pragma once

#include "base/check.h"
#include "http/header.h"

#include <stdbool.h>

struct grammar_lines {
    struct str method, target;
    int major, minor;
    struct http_header *headers; /* grown with xgrow, kept between requests */
    size_t header_count, header_capacity;
};

enum grammar_result {
    GRAMMAR_OK,
    GRAMMAR_UNKNOWN_METHOD,
    GRAMMAR_VERSION,
    GRAMMAR_TOO_MANY_HEADERS,
    GRAMMAR_MALFORMED,
};

/* p, n: a head including its empty line, checked by head_scan. *to points into it; header names are
 * lower-cased in place. *ret_reason on failure: static words. */
MUST_CHECK enum grammar_result grammar_parse(char *p, size_t n, struct grammar_lines *to,
                                             const char **ret_reason);
bool grammar_knows_method(struct str text);
