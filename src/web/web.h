/* The dashboard's files, embedded in the binary: the page, and its assets under /assets/.
 *
 * Everything is made by dashboard/build.mjs and tools/dashboard.py. The page comes for / and, to
 * who asks for text/html (browsers do), for every path that nothing else serves: its own router
 * reads the address. Assets carry a hash in their names and never change under one name. */
#pragma once

#include "http/server.h"

struct web_file {
    struct str path;        /* "/assets/main-XXXX.js"; "/" is the page */
    const char *type;       /* Content-Type */
    const char *etag;       /* with its quotes */
    struct str plain, gzip; /* the same content */
};

/* Made at build time; none when the build was set up without the dashboard. */
extern const struct web_file web_files[];
extern const size_t web_file_count;

/* Answers a GET or HEAD for one of the files. False: it is none, and nothing was answered. On the
 * request's loop. */
MUST_CHECK bool web_answer(struct http_request *r);
