/* What the imports of people and of apps have in common: NDJSON that is judged as a whole before
 * anything is sent, and a daemon that is waited for. What is wrong is said on standard error, line
 * by line. */
#pragma once

#include "accounts/fields.h"
#include "base/arena.h"
#include "cli/client.h"

#include <stdio.h>

struct import_lines {
    struct client_session *client;
    struct arena arena; /* of what is read */
    long line, wrong;
};

void import_say(struct import_lines *in, long line, struct str field, struct str detail);

/* Gives each line's value to `take`, which adds what is wrong to the faults. False: something was
 * wrong, the file could not be read, or it has more than 100,000 lines. */
MUST_CHECK bool import_read(struct import_lines *in, FILE *f,
                            void (*take)(struct import_lines *in, const struct json *v,
                                         struct problems *faults));

/* Until the daemon is back and the account may change something again. Returns the status, as
 * client_request. */
int import_post(struct import_lines *in, const char *path, struct str body, struct buf *answer);
/* An object of the arena; NULL: it is none. */
const struct json *import_object(struct arena *arena, const struct buf *answer);
/* In the daemon's words. why_404: what a 404 says of its PartnerId. */
void import_say_refused(struct import_lines *in, long line, int status, const char *why_404,
                        const struct buf *answer, const struct json *object);
/* Whether it refuses because the account has as many as it may: then nobody has the id. */
bool import_is_full(const struct json *object);
/* Whether such a status is of one line alone, so that the next one is worth a try. */
bool import_goes_on(int status);
