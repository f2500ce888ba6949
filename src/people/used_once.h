/* What may be used once and carries a time that grows: the codes of a second factor (their steps),
 * the challenges of a passkey (when they end). What was used last is remembered, and nothing of an
 * earlier time is taken any more.
 *
 * If what was used last is later than anything can be now, the server's clock was wrong then or is
 * wrong now. Then only what is remembered is refused: otherwise nobody could sign in, after a clock
 * that was ahead is corrected, until it reaches that time again. Pure. */
#pragma once

#include "json/writer.h"

#include <stdbool.h>

#define USED_ONCE_KEPT 10

struct used_once {
    int64_t times[USED_ONCE_KEPT]; /* the newest use first; 0: none */
};

/* `latest`: the latest time that can be used now. */
bool used_once_refuses(const struct used_once *used, int64_t time, int64_t latest);
void used_once_add(struct used_once *used, int64_t time);

struct document_reader;
/* In a stored document: the last use as a member of its own, which every version knows, and the
 * others as an array, which may be missing. */
void used_once_print(struct json_writer *w, const struct used_once *used, const char *last,
                     const char *earlier);
struct used_once used_once_read(struct document_reader *r, const char *last, const char *earlier);
