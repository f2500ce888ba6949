/* Common parts of the imports of people and of apps: reads NDJSON, checks all of it before anything
 * is sent, and waits for the daemon. Faults are printed on standard error, line by line. */
#pragma once

#include "accounts/fields.h"
#include "base/arena.h"
#include "cli/client.h"

#include <stdio.h>

struct import_lines {
    struct client_session *client;
    struct arena arena; /* of what is read */
    long line;
    long wrong, wrong_line; /* lines with something wrong; the last one */
};

void import_say(struct import_lines *in, long line, struct str field, struct str detail);

/* Passes each line's value to `take`, which adds faults. False: there were faults, the file could
 * not be read, or it has more than 100,000 lines. */
MUST_CHECK bool import_read(struct import_lines *in, FILE *f,
                            void (*take)(struct import_lines *in, const struct json *v,
                                         struct problems *faults));

/* Tries until the daemon is back and the account may make changes again. Returns the status, as
 * client_request. */
int import_post(struct import_lines *in, const char *path, struct str body, struct buf *answer);
/* The answer's object, in the arena; NULL: it is none. */
const struct json *import_object(struct arena *arena, const struct buf *answer);
/* Prints the daemon's refusal. why_404: the meaning of a 404 for its PartnerId. */
void import_say_refused(struct import_lines *in, long line, int status, const char *why_404,
                        const struct buf *answer, const struct json *object);
/* True if it is refused because the account is at its limit: then nobody has the id. */
bool import_is_full(const struct json *object);
/* True if the status concerns one line only, so that the next one is worth a try. */
bool import_goes_on(int status);
