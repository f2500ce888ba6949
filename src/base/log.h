/* Structured log lines: an event name and fields, as text or JSON, to stderr.
 *
 *     log_info("listening", LOG_STR("address", addr), LOG_INT("port", port));
 *
 * Any thread; a line is one write(2) of at most PIPE_BUF bytes. A line that cannot be written
 * soon is lost and counted. Never pass a secret, a key or a URL with userinfo. */
#pragma once

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct buf;

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR };

struct log_field {
    const char *name; /* NULL ends a list */
    struct str text;
    int64_t number;
    bool is_number;
};

#define LOG_STR(name, s) ((struct log_field){(name), (s), 0, false})
#define LOG_C(name, c) ((struct log_field){(name), str_of(c), 0, false})
#define LOG_INT(name, v) ((struct log_field){(name), STR_NONE, (int64_t)(v), true})

void log_set(enum log_level least, bool json);
/* Adds the text as it stands between quotes in a line of JSON of at most PIPE_BUF bytes. Cuts text
 * that would not leave room for names and numbers behind it. */
void log_add_escaped(struct buf *line, struct str text);
/* Between the two calls no thread writes to the log: for code that writes to stderr itself. */
void log_hold(void);
void log_release(void);
void log_write(enum log_level level, const char *event, const struct log_field *fields);

#define LOG_AT(level, event, ...)                                                                  \
    log_write(level, event, (const struct log_field[]){__VA_ARGS__ __VA_OPT__(, ){0}})
#define log_debug(event, ...) LOG_AT(LOG_DEBUG, event, __VA_ARGS__)
#define log_info(event, ...) LOG_AT(LOG_INFO, event, __VA_ARGS__)
#define log_warning(event, ...) LOG_AT(LOG_WARNING, event, __VA_ARGS__)
#define log_error(event, ...) LOG_AT(LOG_ERROR, event, __VA_ARGS__)
