/* The access log, if configured: a line of JSON for each answered request. Of the headers it has
 * only X-Request-Id, and it has no query and no body: these contain keys and personal data. */
#pragma once

#include "base/check.h"
#include "domain/address.h"

struct access_log;

struct access_entry {
    int64_t wall_ms; /* of the answer */
    struct str request_id;
    struct address client;
    struct str method, path;               /* empty: the request could not be parsed */
    struct str caller;                     /* id of a key or user; empty: a stranger */
    int status;                            /* 499: the client left before the answer */
    int64_t request_bytes, response_bytes; /* of the bodies */
    int64_t duration_ms;
    bool is_probe;
};

/* Writes to the file, which is created if missing, or to standard error ("-"). NULL: *ret_why
 * (malloc'ed) is one clear line. */
MUST_CHECK struct access_log *access_log_open(const char *path, char **ret_why);
/* Whether probes are logged; at first they are not. Any thread. */
void access_log_set_probes(struct access_log *log, bool probes);
/* Opens the path again, after a rotation. False: *ret_why, and the old file stays in use. */
MUST_CHECK bool access_log_reopen(struct access_log *log, char **ret_why);
/* Any thread; never waits. Lines without room in the buffer are lost and counted. */
void access_log_write(struct access_log *log, const struct access_entry *entry);
/* Lines lost since the process started. Any thread. */
int64_t access_log_lines_lost(void);
/* Writes what can be written without waiting, and frees it. Accepts NULL. */
void access_log_close(struct access_log *log);
