/* One request while the API works on it: its caller, its route, and the objects that its path
 * names.
 *
 * A call lives in its request's arena. A handler answers exactly once: at once, or later from the
 * `done` task of a store request. While a handler waits, it keeps no pointer to the request except
 * the call. */
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

    /* Who asks. */
    bool authenticated;
    bool is_operator; /* a key of the installation, not of one partner */
    uint32_t scopes;
    uint32_t key_account_no; /* 0: an operator's */
    struct str key_id;       /* what requests are counted under; a person's is its UserId */
    struct {                 /* who is signed in; user_id absent: a key asks, or nobody */
        struct str user_id, email, session_id, token;
        bool acting; /* an operator looks at a partner's account as that partner */
    } person;

    struct { /* of the latest judgement of who asks (api/caller.h); status 0: they may */
        int status;
        const char *detail; /* literal */
        const char *scope;  /* the one that lacks; NULL: another reason */
    } refusal;

    /* About what: set by the path or by partnerId; 0 where the route needs none. */
    uint32_t account_no;
    struct partner *partner; /* references of a handler, given back when the request ends */
    struct app *app;
    struct client *client;
    struct api_key *key;
    struct user *user;
    struct str ids[2]; /* the {Ids} of the path, decoded */

    struct parameter parameters[CALL_PARAMETERS_MAX];
    size_t parameter_count;
    struct problems problems;
    struct idempotency_key *idempotency_key; /* NULL: none, or of no use here */
    void *work;                              /* the handler's own, between its steps */
    bool rate_counted;                       /* `rate` is said in the answer's headers */
    struct rate_state rate;
    bool uses; /* has begun a use of its account, see services/account_limits.h */
    uint32_t used_account_no;
    enum account_use use;
    int64_t retry_after_s;     /* of a 429 that is not the rate's; 0: a second */
    struct buf headers;        /* of the answer, besides those that every answer has */
    struct buf body;           /* of the answer, while it is printed */
    struct json_writer writer; /* into it */
    bool holds_secrets;        /* this answer of a ROUTE_PACKED does: it is not compressed */
    struct packed *packed;     /* the answer under way; NULL: as it is */
};

/* Whether who asks has the scope; an admin has all. */
bool call_may(const struct call *c, enum scope scope);
/* Gives back the references to what the call is about. */
void call_release(struct call *c);
/* A handler's own struct for an asynchronous query begins its life here. */
void *call_alloc(struct call *c, size_t n);
/* The call's own copy of a text; the one it has stays where it says the same. */
void call_keep_text(struct call *c, struct str *kept, struct str text);
struct executor *call_executor(struct call *c);
int64_t call_now_ms(struct call *c);

struct str call_parameter(const struct call *c, const char *name); /* absent: not given */

/* Whether the body comes in a form that the route takes. False: the 415 has been answered. */
MUST_CHECK bool call_check_media(struct call *c);
/* Reads the request's body as one JSON object. False: the 400 or 415 has been answered. */
MUST_CHECK bool call_read_object(struct call *c, const struct json **ret_object);

/* --- answers; each ends the call --------------------------------------------------------- */
void call_answer_json(struct call *c, int status, const struct buf *body);
/* The same, printed as it is known: between both the handler prints what the answer is. */
struct json_writer *call_begin_json(struct call *c);
void call_end_json(struct call *c, int status);
/* An answer that is one object: the handler prints its members. */
struct json_writer *call_begin_object(struct call *c);
void call_end_object(struct call *c, int status);
void call_answer_empty(struct call *c, int status);
/* application/problem+json; detail may be NULL. c->problems become `errors`. */
void call_answer_problem(struct call *c, int status, const char *detail_fmt, ...) PRINTF_LIKE(3, 4);
/* 400 with what is in c->problems, as Fields of a body or as Parameters of a query. */
void call_answer_invalid(struct call *c);
void call_answer_invalid_query(struct call *c);
void call_answer_text(struct call *c, const char *content_type, const struct buf *body);
void call_answer_busy(struct call *c, enum store_status status); /* 429 or 503 with Retry-After */
/* What is said, with 503, where a commit may have happened or may yet. */
#define CALL_NOT_KNOWN                                                                             \
    "whether this request is stored is not known yet. Send it again after Retry-After seconds: "   \
    "events that are stored already are then counted as Duplicates."
/* Answers unless the status is STORE_OK: busy, failed, not found; or the caller may no more. */
MUST_CHECK bool call_store_ok(struct call *c, enum store_status status);
/* For an answer in pieces: the same headers and the same end as the others. A piece is given as to
 * http_respond_piece, with `drained`; the last one, which may be absent, with the end. */
void call_begin_pieces(struct call *c, const char *content_type);
void call_piece(struct call *c, struct str piece, void (*drained)(struct http_request *r));
void call_end_pieces(struct call *c, struct str last);
void call_abort_pieces(struct call *c); /* the rest cannot be had: no end */
