/* The form of a callback's request: how an app's RequestFormat and the macros of its URL transform
 * the body that was fixed at acceptance. */
#pragma once

#include "base/buf.h"
#include "base/check.h"

/* Stored with messages that are owed: append only. */
enum request_format { REQUEST_JSON = 0, REQUEST_FORM, REQUEST_GET };
#define REQUEST_FORMAT_LAST REQUEST_GET

#define CONTENT_TYPE_JSON "application/json"
#define CONTENT_TYPE_FORM "application/x-www-form-urlencoded"

const char *request_format_name(enum request_format format); /* "json" */
MUST_CHECK bool request_format_parse(struct str name, enum request_format *ret_format);
const char *request_format_method(enum request_format format); /* "POST" */
/* NULL: a GET has no body. */
const char *request_format_content_type(enum request_format format);

struct request_facts {
    struct str body; /* JSON, signed */
    int64_t occurred_ms;
    bool is_test;
    struct str secret; /* signs the query; absent: print asterisks */
};

/* Appends path and query. `target` is the URL's own: its macros are replaced. For a GET without
 * macros all fields of the body and QuerySignature are appended to its query. */
void request_print_target(struct buf *to, struct str target, enum request_format format,
                          const struct request_facts *facts);
/* The same for a whole URL, whose userinfo may be masked. */
void request_print_url(struct buf *to, struct str url, enum request_format format,
                       const struct request_facts *facts);
/* True if path and query have values of the callback; otherwise the URL is sent as configured. */
bool request_has_values(enum request_format format, struct str url);
/* True if the URL is sent as configured, with the JSON body. */
bool request_is_plain(enum request_format format, struct str url);
/* False: what identifies the callback, or all that is signed of it, is in the URL, and nothing
 * there tells a test from a real callback. */
bool request_shows_test(enum request_format format, struct str url);
/* Appends the body to send: as it is, as a form, or none. */
void request_print_body(struct buf *to, enum request_format format, struct str body);
