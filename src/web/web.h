/* The dashboard's files, embedded in the binary: the page, and its assets under /assets/.
 *
 * dashboard/build.mjs and tools/dashboard.py make them. The page answers / and, for clients that
 * accept text/html (browsers), every path without another route, because its own router reads the
 * address. Assets have a hash in their names: the content of a name never changes. */
#pragma once

#include "http/server.h"

struct web_file {
    struct str path;        /* "/assets/main-XXXX.js"; "/" is the page */
    const char *type;       /* Content-Type */
    const char *etag;       /* with its quotes */
    struct str plain, gzip; /* the same content */
};

/* Made at build time; empty in a build without the dashboard. */
extern const struct web_file web_files[];
extern const size_t web_file_count;

/* Answers a GET or HEAD for a file. False: there is no such file, and nothing is answered. On the
 * request's loop. */
MUST_CHECK bool web_answer(struct http_request *r);
