/* The access log: a line of JSON for each request that was answered, for operators who ask for it.
 * Of the headers lines hold X-Request-Id only, and no query and no body: keys and personal data
 * are there. */
#pragma once

#include "base/check.h"
#include "domain/address.h"

struct access_log;

struct access_entry {
    int64_t wall_ms; /* of the answer */
    struct str request_id;
    struct address client;
    struct str method, path;               /* empty where the request was not understood */
    struct str caller;                     /* id of a key or a user; empty: a stranger */
    int status;                            /* 499: the client left before there was one */
    int64_t request_bytes, response_bytes; /* of the bodies */
    int64_t duration_ms;
    bool is_probe;
};

/* To the file, which is made where it is not there, or to standard error ("-"). NULL: *ret_why
 * (malloc'ed) is one clear line. */
MUST_CHECK struct access_log *access_log_open(const char *path, char **ret_why);
/* Whether entries of probes are written, too; at first they are not. Any thread. */
void access_log_set_probes(struct access_log *log, bool probes);
/* Goes on in what now has the path: after a rotation. False: *ret_why, and it goes on as before. */
MUST_CHECK bool access_log_reopen(struct access_log *log, char **ret_why);
/* Any thread; never waits. What finds no room is lost and counted. */
void access_log_write(struct access_log *log, const struct access_entry *entry);
/* Lines that were lost since the process started. Any thread. */
int64_t access_log_lines_lost(void);
/* Writes what can be written at once, and frees it. May be NULL. */
void access_log_close(struct access_log *log);
