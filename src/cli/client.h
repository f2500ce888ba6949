/* A blocking client of a running daemon, for the commands that talk to one (libcurl). */
#pragma once

#include "base/buf.h"
#include "base/check.h"
#include "cli/option.h"

struct client_session; /* keeps its connection; one thread at a time */

/* base_url: "http://127.0.0.1:8080"; key: absent for public paths. */
struct client_session *client_open(struct str base_url, struct str key);
/* Whether --ca-file, if the command is one of a running server and has it, can be read. */
MUST_CHECK bool client_can_trust(struct settings *s, struct str *ret_why);
/* Of --url and --ca-file, which outlive it. */
struct client_session *client_open_server(const struct settings *s, struct str key);
void client_close(struct client_session *c);

/* Of each answer only that many bytes are kept; the others are read and dropped. */
void client_keep_most(struct client_session *c, size_t bytes);
/* Goes with the next request only. */
void client_add_header(struct client_session *c, const char *name, struct str value);
/* Of the last answer; false: it had none. */
MUST_CHECK bool client_answer_header(struct client_session *c, const char *name, struct buf *to);
/* As part of a path or a query: every byte as %XX, so that /callbacks/recover does not stand for a
 * RewardId "recover" (api/route.c). */
void client_add_escaped(struct buf *to, struct str text);

/* body absent: none is sent. Returns the HTTP status, or 0 with a sentence in ret_answer when
 * there was none: why, and what may help, such as --ca-file. */
int client_request(struct client_session *c, const char *method, const char *path,
                   const char *content_type, struct str body, struct buf *ret_answer);

/* That sentence, of the last request that had no answer. */
const char *client_failure(struct client_session *c);
/* "503 {...}", or that sentence. */
void client_print_answer(struct buf *to, int status, const struct buf *answer);

struct client_patience {
    /* At most, begun within as many seconds; the latter of a server that has never answered. */
    int tries, unknown_tries;
};
/* The same, once a second while the key has used its limit, or the server is busy or cannot be
 * reached, unless by its certificate. After the second try stderr says what is waited for. */
int client_request_patiently(struct client_session *c, const char *method, const char *path,
                             const char *content_type, struct str body,
                             struct client_patience patience, struct buf *ret_answer);
/* A GET, for up to 90 s, longer than a key's minute of requests. */
int client_get_patiently(struct client_session *c, const char *path, struct buf *ret_answer);
/* Whether it has only the characters of a PartnerId or AppId. */
bool client_is_id(struct str text);

#define CLIENT_SILENCE_S 45
#define CLIENT_FIRST_BYTE_S 10

struct client_stream {
    bool (*take)(void *context, struct str bytes); /* may ask other sessions */
    void (*silent)(void *context); /* once: CLIENT_FIRST_BYTE_S without a byte of the answer */
    void *context;
};
/* GET whose answer does not end by itself: a 200's bytes are given to `take` as they come, until it
 * returns false, the server ends the answer, or nothing has come for CLIENT_SILENCE_S. Returns the
 * status, with the body in ret_answer where it is not 200, or 0 as above. */
int client_stream(struct client_session *c, const char *path, const struct client_stream *stream,
                  struct buf *ret_answer);
