/* Values that may be used once and have a growing time: codes of a second factor (their steps),
 * challenges of a passkey (their expiry). The last use is remembered, and earlier times are
 * refused.
 *
 * A remembered use in the future means that the server's clock was wrong then or is wrong now. Then
 * only remembered values are refused: otherwise, after a clock that was ahead is corrected, nobody
 * could sign in until that time comes. Pure. */
#pragma once

#include "json/writer.h"

#include <stdbool.h>

#define USED_ONCE_KEPT 10

struct used_once {
    int64_t times[USED_ONCE_KEPT]; /* the newest use first; 0: none */
};

/* latest: the latest valid time now. */
bool used_once_refuses(const struct used_once *used, int64_t time, int64_t latest);
void used_once_add(struct used_once *used, int64_t time);

struct document_reader;
/* In a stored document, the last use is a member of its own, which every version knows; earlier
 * uses are an array, which may be missing. */
void used_once_print(struct json_writer *w, const struct used_once *used, const char *last,
                     const char *earlier);
struct used_once used_once_read(struct document_reader *r, const char *last, const char *earlier);
