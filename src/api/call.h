/* One request while the API handles it: its caller, its route, and the objects that its path names.
 *
 * A call lives in its request's arena. A handler answers exactly once: at once, or later from the
 * `done` task of a store request. While it waits, its only pointer to the request is the call. */
#pragma once

#include "accounts/accounts.h"
#include "api/api.h"
#include "base/problem.h"
#include "services/account_limits.h"
#include "services/rate_limit.h"
#include "json/reader.h"
#include "json/writer.h"

#define CALL_MAGIC 0xCA1100A1u
#define CALL_PARAMETERS_MAX 16

struct parameter {
    struct str name, value; /* decoded */
};

struct route;
struct user;
struct idempotency_key;

struct call {
    uint32_t magic;
    struct http_request *r;
    struct api_loop *loop;
    struct api *api;
    const struct route *route;

    /* The caller. */
    bool authenticated;
    bool is_operator; /* a key of the installation, not of one partner */
    uint32_t scopes;
    uint32_t key_account_no; /* 0: an operator's */
    struct str key_id;       /* what requests are counted by; for a person, the UserId */
    struct {                 /* the signed-in person; user_id absent: a key or nobody */
        struct str user_id, email, session_id, token;
        bool acting; /* an operator views a partner's account as that partner */
    } person;

    struct { /* how the caller was judged last (api/caller.h); status 0: allowed */
        int status;
        const char *detail; /* literal */
        const char *scope;  /* the missing one; NULL: another reason */
    } refusal;

    /* The subject, from the path or partnerId; 0 if the route needs none. */
    uint32_t account_no;
    struct partner *partner; /* references, released when the request ends */
    struct app *app;
    struct client *client;
    struct api_key *key;
    struct user *user;
    struct str ids[2]; /* the {Ids} of the path, decoded */

    struct parameter parameters[CALL_PARAMETERS_MAX];
    size_t parameter_count;
    struct problems problems;
    struct idempotency_key *idempotency_key; /* NULL: none, or the route ignores it */
    void *work;                              /* the handler's own state */
    bool rate_counted;                       /* the answer's headers have `rate` */
    struct rate_state rate;
    bool uses; /* has taken a use of its account, see services/account_limits.h */
    uint32_t used_account_no;
    enum account_use use;
    int64_t retry_after_s;     /* for a 429 by another limit than the rate; 0: a second */
    struct buf headers;        /* of the answer, besides the standard ones */
    struct buf body;           /* of the answer, while printed */
    struct json_writer writer; /* into `body` */
    bool holds_secrets;    /* this answer of a ROUTE_PACKED is not compressed, as it has secrets */
    struct packed *packed; /* the compressed answer under way; NULL: not compressed */
};

/* True if the caller has the scope; an admin has all. */
bool call_may(const struct call *c, enum scope scope);
/* Releases the references to the call's subject. */
void call_release(struct call *c);
/* Zeroed memory that lives as long as the call, for a handler's own struct. */
void *call_alloc(struct call *c, size_t n);
/* Keeps a copy of a text; keeps the old copy if the text is the same. */
void call_keep_text(struct call *c, struct str *kept, struct str text);
struct executor *call_executor(struct call *c);
int64_t call_now_ms(struct call *c);

struct str call_parameter(const struct call *c, const char *name); /* absent: not given */

/* Checks the body's Content-Type and encoding. False: answered 415. */
MUST_CHECK bool call_check_media(struct call *c);
/* Reads the body as one JSON object. False: answered 400 or 415. */
MUST_CHECK bool call_read_object(struct call *c, const struct json **ret_object);

/* --- answers; each ends the call --------------------------------------------------------- */
void call_answer_json(struct call *c, int status, const struct buf *body);
/* The same in two steps: the handler prints the answer between them. */
struct json_writer *call_begin_json(struct call *c);
void call_end_json(struct call *c, int status);
/* The same for one object: the handler prints its members. */
struct json_writer *call_begin_object(struct call *c);
void call_end_object(struct call *c, int status);
void call_answer_empty(struct call *c, int status);
/* application/problem+json; detail may be NULL. c->problems become `errors`. */
void call_answer_problem(struct call *c, int status, const char *detail_fmt, ...) PRINTF_LIKE(3, 4);
/* The detail of a 404 for an object of another account, or of none. */
#define CALL_NOT_FOUND "Not found in this account."
/* 400 with c->problems, as Fields of a body or Parameters of a query. */
void call_answer_invalid(struct call *c);
void call_answer_invalid_query(struct call *c);
void call_answer_text(struct call *c, const char *content_type, const struct buf *body);
void call_answer_busy(struct call *c, enum store_status status); /* 429 or 503 with Retry-After */
/* The text of a 503 after which the commit may have happened, or may still happen. */
#define CALL_NOT_KNOWN                                                                             \
    "whether this request is stored is not known yet. Send it again after Retry-After seconds: "   \
    "events that are stored already are then counted as Duplicates."
/* False: the status is not STORE_OK, or c->refusal is set, as the caller lost its rights or
 * another request used its Idempotency-Key; that has been answered. */
MUST_CHECK bool call_store_ok(struct call *c, enum store_status status);
/* An answer in pieces, with the standard headers and end. call_piece works as http_respond_piece,
 * with `drained`; call_end_pieces takes the last piece, which may be absent. */
void call_begin_pieces(struct call *c, const char *content_type);
void call_piece(struct call *c, struct str piece, void (*drained)(struct http_request *r));
void call_end_pieces(struct call *c, struct str last);
/* The rest is not available: closes the connection, so that the client sees no end. */
void call_abort_pieces(struct call *c);
