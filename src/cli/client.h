/* A blocking client of a running daemon, for the commands that talk to one (libcurl). */
#pragma once

#include "base/buf.h"
#include "base/check.h"
#include "cli/option.h"

struct client_session; /* keeps its connection; one thread at a time */

/* base_url: "http://127.0.0.1:8080"; key: absent for public paths. */
struct client_session *client_open(struct str base_url, struct str key);
/* False: the command takes --ca-file, and the file cannot be read. */
MUST_CHECK bool client_can_trust(struct settings *s, struct str *ret_why);
/* A session for --url and --ca-file, which must outlive it. */
struct client_session *client_open_server(const struct settings *s, struct str key);
void client_close(struct client_session *c);

/* Keeps only that many bytes of each answer; reads and drops the others. */
void client_keep_most(struct client_session *c, size_t bytes);
/* A header of the next request only. */
void client_add_header(struct client_session *c, const char *name, struct str value);
/* A header of the last answer; false: it had none. */
MUST_CHECK bool client_answer_header(struct client_session *c, const char *name, struct buf *to);
/* Escapes part of a path or query: every byte as %XX, so that a RewardId "recover" does not become
 * /callbacks/recover (api/route.c). */
void client_add_escaped(struct buf *to, struct str text);

/* body absent: none is sent. Returns the HTTP status; 0: there was no answer, and ret_answer is a
 * sentence with the reason and a possible remedy, such as --ca-file. */
int client_request(struct client_session *c, const char *method, const char *path,
                   const char *content_type, struct str body, struct buf *ret_answer);

/* That sentence, of the last request without an answer. */
const char *client_failure(struct client_session *c);
/* "503 {...}", or that sentence. */
void client_print_answer(struct buf *to, int status, const struct buf *answer);

struct client_patience {
    /* Maximum number of tries, begun within as many seconds; the second for a server that has never
     * answered. */
    int tries, unknown_tries;
};
/* Like client_request, but tries again once a second while the key has used its limit, or the
 * server is busy or unreachable, except for its certificate. After the second try stderr says what
 * it waits for. */
int client_request_patiently(struct client_session *c, const char *method, const char *path,
                             const char *content_type, struct str body,
                             struct client_patience patience, struct buf *ret_answer);
/* A GET with tries for 90 s, longer than a key's minute of requests. */
int client_get_patiently(struct client_session *c, const char *path, struct buf *ret_answer);
/* True if it has only characters of a PartnerId or AppId. */
bool client_is_id(struct str text);

#define CLIENT_SILENCE_S 45
#define CLIENT_FIRST_BYTE_S 10

struct client_stream {
    bool (*take)(void *context, struct str bytes); /* may use other sessions */
    void (*silent)(void *context); /* once: no byte of the answer for CLIENT_FIRST_BYTE_S */
    void *context;
};
/* A GET with an endless answer: `take` gets the bytes of a 200 as they come, until it returns
 * false, the server ends the answer, or nothing comes for CLIENT_SILENCE_S. Returns the status; if
 * it is not 200, ret_answer has the body. 0: as client_request. */
int client_stream(struct client_session *c, const char *path, const struct client_stream *stream,
                  struct buf *ret_answer);
