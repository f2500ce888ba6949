/* The memory and parameters of a call, and the ways to answer it. Every answer releases the
 * directory entries that the call holds; afterwards the call must not be used. */
#include "api/call.h"

#include "api/caller.h"
#include "api/internal.h"
#include "api/pack.h"
#include "api/route.h"
#include "domain/negotiate.h"
#include "intake/intake.h"
#include "people/user_record.h"

void *call_alloc(struct call *c, size_t n)
{
    return arena_zalloc(&c->r->arena, n);
}

void call_keep_text(struct call *c, struct str *kept, struct str text)
{
    if (!kept->p || !str_eq(*kept, text))
        *kept = arena_str(&c->r->arena, text);
}

struct executor *call_executor(struct call *c)
{
    return loop_executor(c->loop->loop);
}

int64_t call_now_ms(struct call *c)
{
    return loop_wall_ms(c->loop->loop);
}

bool call_may(const struct call *c, enum scope scope)
{
    return (c->scopes & (SCOPE_ADMIN | (uint32_t)scope)) != 0;
}

struct str call_parameter(const struct call *c, const char *name)
{
    for (size_t i = 0; i < c->parameter_count; i++)
        if (str_is(c->parameters[i].name, name))
            return c->parameters[i].value;
    return STR_NONE;
}

void call_release(struct call *c)
{
    partner_unref(c->partner);
    app_unref(c->app);
    client_unref(c->client);
    api_key_unref(c->key);
    user_unref(c->user);
    c->partner = NULL;
    c->app = NULL;
    c->client = NULL;
    c->key = NULL;
    c->user = NULL;
}

/* Ends every answer: releases what the call holds. */
static void end(struct call *c)
{
    call_release(c);
    buf_free(&c->headers);
    buf_free(&c->body);
    if (c->uses)
        account_limits_give(c->api->accounts, c->used_account_no, c->use);
    c->uses = false;
}

/* The headers that every answer has. */
static void add_common_headers(struct call *c, struct buf *headers)
{
    buf_add_c(headers, "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n");
    if (c->rate_counted)
        buf_printf(headers,
                   "RateLimit-Limit: %d\r\nRateLimit-Remaining: %d\r\nRateLimit-Reset: %d\r\n",
                   c->rate.limit, c->rate.remaining, c->rate.reset_s);
}

/* --- compressed where the client takes it ------------------------------------------------------
 */

/* Smaller bodies are not compressed: the coding's header lines and frame would take about as many
 * bytes as it saves. */
#define PACKED_BYTES_LEAST 1024

struct packed {
    struct pack pack;
    struct call *c;
    int status; /* for an answer in one piece */
    const char *type;
    struct buf headers;
    void (*drained)(struct http_request *r); /* for a piece */
};

static bool may_pack(const struct call *c)
{
    return c->route && (c->route->flags & ROUTE_PACKED) && !c->holds_secrets;
}

/* Adds the headers of an answer that may be compressed. body_bytes: SIZE_MAX if not known yet. */
static enum coding choose_coding(struct call *c, size_t body_bytes, struct buf *headers)
{
    if (!may_pack(c))
        return CODING_IDENTITY;
    struct str accepted = http_header_list(c->r, "accept-encoding");
    enum coding coding = accept_coding(accepted, true);
    if (body_bytes < PACKED_BYTES_LEAST && !accept_refuses_identity(accepted))
        coding = CODING_IDENTITY;
    buf_add_c(headers, "Vary: Accept, Accept-Encoding\r\n");
    if (coding != CODING_IDENTITY)
        buf_printf(headers, "Content-Encoding: %s\r\n", coding_name(coding));
    return coding;
}

static struct packed *pack_new(struct call *c, enum coding coding)
{
    struct packed *p = call_alloc(c, sizeof *p);
    p->c = c;
    p->pack.executor = call_executor(c);
    p->pack.encoder = encoder_new(coding);
    return p;
}

static void respond(struct call *c, int status, const char *type, struct buf *headers,
                    struct str body)
{
    end(c);
    c->magic = 0; /* answering frees the call: a second answer must not find it */
    http_respond(c->r, status, type, buf_str(headers), body);
    buf_free(headers);
}

static void answer_packed(struct pack *pack)
{
    struct packed *p = CONTAINER_OF(pack, struct packed, pack);
    struct buf headers = p->headers, out = p->pack.out; /* p ends with its call */
    encoder_free(p->pack.encoder);
    respond(p->c, p->status, p->type, &headers, buf_str(&out));
    buf_free(&out);
}

static void answer(struct call *c, int status, const char *type, struct str body)
{
    CHECK_MAGIC(c, CALL_MAGIC);
    struct buf headers = {0};
    add_common_headers(c, &headers);
    buf_add_str(&headers, buf_str(&c->headers));
    enum coding coding = status == 200 ? choose_coding(c, body.n, &headers) : CODING_IDENTITY;
    if (coding == CODING_IDENTITY) {
        respond(c, status, type, &headers, body);
        return;
    }
    struct packed *p = pack_new(c, coding);
    p->status = status;
    p->type = type;
    p->headers = headers;
    p->pack.flush = ENCODER_END;
    p->pack.done = answer_packed;
    pack_begin(&p->pack, body);
}

void call_answer_json(struct call *c, int status, const struct buf *body)
{
    answer(c, status, "application/json", buf_str(body));
}

struct json_writer *call_begin_json(struct call *c)
{
    json_write_to(&c->writer, &c->body);
    return &c->writer;
}

void call_end_json(struct call *c, int status)
{
    struct buf body = c->body; /* the answer frees the call */
    c->body = (struct buf){0};
    call_answer_json(c, status, &body);
    buf_free(&body);
}

struct json_writer *call_begin_object(struct call *c)
{
    json_object(call_begin_json(c));
    return &c->writer;
}

void call_end_object(struct call *c, int status)
{
    json_end_object(&c->writer);
    call_end_json(c, status);
}

void call_answer_text(struct call *c, const char *content_type, const struct buf *body)
{
    answer(c, 200, content_type, buf_str(body));
}

void call_answer_empty(struct call *c, int status)
{
    answer(c, status, NULL, STR_NONE);
}

void call_begin_pieces(struct call *c, const char *content_type)
{
    struct buf headers = {0};
    add_common_headers(c, &headers);
    buf_add_str(&headers, buf_str(&c->headers));
    enum coding coding = choose_coding(c, SIZE_MAX, &headers);
    if (coding != CODING_IDENTITY)
        c->packed = pack_new(c, coding);
    http_respond_begin(c->r, 200, content_type, buf_str(&headers));
    buf_free(&headers);
}

static void piece_packed(struct pack *pack)
{
    struct packed *p = CONTAINER_OF(pack, struct packed, pack);
    struct http_request *r = p->c->r;
    struct buf out = p->pack.out;
    if (r->gone)
        p->drained(r);
    else
        http_respond_piece(r, buf_str(&out), p->drained);
    buf_free(&out);
}

void call_piece(struct call *c, struct str piece, void (*drained)(struct http_request *r))
{
    if (!c->packed) {
        http_respond_piece(c->r, piece, drained);
        return;
    }
    c->packed->drained = drained;
    c->packed->pack.flush = ENCODER_FLUSH;
    c->packed->pack.done = piece_packed;
    pack_begin(&c->packed->pack, piece);
}

static void end_pieces(struct call *c, struct str last)
{
    if (!c->r->gone && last.n > 0)
        http_respond_piece(c->r, last, NULL);
    end(c);
    http_respond_end(c->r);
}

static void last_packed(struct pack *pack)
{
    struct packed *p = CONTAINER_OF(pack, struct packed, pack);
    struct buf out = p->pack.out; /* p ends with its call */
    encoder_free(p->pack.encoder);
    end_pieces(p->c, buf_str(&out));
    buf_free(&out);
}

void call_end_pieces(struct call *c, struct str last)
{
    if (!c->packed) {
        end_pieces(c, last);
        return;
    }
    c->packed->pack.flush = ENCODER_END;
    c->packed->pack.done = last_packed;
    pack_begin(&c->packed->pack, last);
}

void call_abort_pieces(struct call *c)
{
    if (c->packed)
        encoder_free(c->packed->pack.encoder);
    end(c);
    http_respond_abort(c->r);
}

/* Problems of the query are named Parameter, those of a body Field. */
static void print_errors(struct json_writer *w, const struct call *c, bool of_query)
{
    json_key_array(w, "errors");
    for (const struct problem *p = c->problems.first; p; p = p->next) {
        json_object(w);
        json_key(w, of_query ? "Parameter" : "Field");
        json_string(w, p->field);
        json_key_c(w, "Code", p->code);
        json_key_string(w, "Detail", p->detail);
        json_end_object(w);
    }
    json_end_array(w);
    if (c->problems.left_out > 0)
        json_key_int(w, "moreErrors", (int64_t)c->problems.left_out);
}

static void answer_problem(struct call *c, int status, struct str detail, bool of_query)
{
    struct buf body = {0};
    struct json_writer w;
    http_begin_problem(&w, &body, status, detail);
    if (c->problems.count)
        print_errors(&w, c, of_query);
    json_end_object(&w);
    answer(c, status, "application/problem+json", buf_str(&body));
    buf_free(&body);
}

static void add_headers_of_status(struct call *c, int status)
{
    struct buf *b = &c->headers;
    if (status == 401)
        buf_add_c(b, "WWW-Authenticate: Bearer realm=\"postbackd\"\r\n");
    if (status == 405) {
        buf_add_c(b, "Allow: ");
        route_print_allow(b, c->r->path);
        buf_add_c(b, "\r\n");
    }
    if (status == 429)
        buf_printf(b, "Retry-After: %lld\r\n",
                   c->retry_after_s  ? (long long)c->retry_after_s
                   : c->rate_counted ? (long long)c->rate.retry_s
                                     : 1);
    if (status == 503)
        buf_add_c(b, HTTP_RETRY_AFTER);
}

void call_answer_problem(struct call *c, int status, const char *detail_fmt, ...)
{
    struct buf detail = {0};
    va_list ap;
    va_start(ap, detail_fmt);
    buf_vprintf(&detail, detail_fmt, ap);
    va_end(ap);
    add_headers_of_status(c, status);
    answer_problem(c, status, buf_str(&detail), false);
    buf_free(&detail);
}

void call_answer_invalid(struct call *c)
{
    answer_problem(c, 400,
                   STR("The body was understood, but some of its fields were not accepted; nothing "
                       "was changed."),
                   false);
}

void call_answer_invalid_query(struct call *c)
{
    answer_problem(c, 400, STR("The query was not accepted; see errors for each parameter."), true);
}

static bool is_cluster_away(struct call *c)
{
    struct store_numbers n;
    store_get_numbers(c->api->options.store, &n);
    return n.clusters_away > 0;
}

/* 429 if sending less would help, 503 if somebody must look at the machine. */
void call_answer_busy(struct call *c, enum store_status status)
{
    if (c->r->gone) { /* the store may be gone, too, if the daemon is ending */
        call_answer_problem(c, 503, "The client has left.");
        return;
    }
    enum store_refusal refusal = store_get_refusal(c->api->options.store);
    if (status == STORE_BUSY && refusal == STORE_TAKES && is_cluster_away(c)) {
        call_answer_problem(c, 503,
                            "A cluster that has accounts of this request cannot be reached or "
                            "written; nothing of this request was stored. Send it again after "
                            "Retry-After seconds. Requests for accounts of other clusters are "
                            "answered meanwhile.");
        return;
    }
    if (status == STORE_REFUSED) {
        call_answer_problem(c, 503,
                            "The database refuses this request%s. Other requests are answered "
                            "meanwhile. Send it again after Retry-After seconds; the operator's "
                            "log says what is refused (statement_refused).",
                            c->route->method == HTTP_GET ? "" : ", and nothing of it was stored");
        return;
    }
    if (status == STORE_FAILED && c->route->method != HTTP_GET) {
        call_answer_problem(c, 503, "The store has stopped, and " CALL_NOT_KNOWN);
        return;
    }
    if (status == STORE_PARTLY) {
        call_answer_problem(c, 503,
                            "A cluster that has accounts of this request did not take its part, "
                            "and " CALL_NOT_KNOWN);
        return;
    }
    if (status == STORE_BUSY && refusal == STORE_TAKES) {
        call_answer_problem(c, 429,
                            "The store was busy for a moment; nothing of this request was stored. "
                            "Send it again after Retry-After seconds.");
        return;
    }
    bool less = refusal == STORE_REFUSES_QUEUE || refusal == STORE_REFUSES_WAITING;
    if (status == STORE_BUSY && less)
        call_answer_problem(c, 429,
                            "More is waiting to be recorded than the bounds allow; nothing of this "
                            "request was stored. Send it again after Retry-After seconds. %s",
                            store_refusal_text(refusal));
    else
        call_answer_problem(c, 503,
                            "The store is not taking requests; nothing of this request was stored. "
                            "Send it again after Retry-After seconds. %s",
                            refusal == STORE_TAKES ? "See /readyz." : store_refusal_text(refusal));
}

bool call_store_ok(struct call *c, enum store_status status)
{
    if (c->refusal.status) { /* the store was not asked */
        caller_answer_refusal(c);
        return false;
    }
    if (status == STORE_OK)
        return true;
    if (status == STORE_NOT_FOUND)
        call_answer_problem(c, 404, CALL_NOT_FOUND);
    else
        call_answer_busy(c, status);
    return false;
}

/* A change may also have the media type of RFC 7396, section 4. */
static bool is_json_type(const struct call *c, struct str value)
{
    struct str rest = value;
    struct str type = str_trim(str_cut(&rest, ';'));
    return str_eq_nocase(type, "application/json") ||
           (c->r->method == HTTP_PATCH && str_eq_nocase(type, "application/merge-patch+json"));
}

bool call_check_media(struct call *c)
{
    struct str type = http_header(c->r, "content-type");
    bool events = c->route->handle == events_post;
    if (http_header(c->r, "content-encoding").p)
        call_answer_problem(c, 415, "Content-Encoding is not supported; send the body as it is.");
    else if (!media_is_utf8(type))
        call_answer_problem(c, 415, "The body must be UTF-8; Content-Type names another charset.");
    else if (events && intake_format_of(type) == INTAKE_UNSUPPORTED)
        call_answer_problem(c, 415, INTAKE_UNSUPPORTED_TEXT);
    else if (!events && !is_json_type(c, type))
        call_answer_problem(c, 415, "The body must be JSON, with Content-Type: application/json.");
    else
        return true;
    return false;
}

bool call_read_object(struct call *c, const struct json **ret_object)
{
    if (!call_check_media(c))
        return false;
    struct json *value = NULL;
    struct str why;
    if (!json_parse(&c->r->arena, c->r->body, &value, &why)) {
        call_answer_problem(c, 400, "The body is not valid JSON: %.*s", STR_ARG(why));
        return false;
    }
    if (value->type != JSON_OBJECT) {
        call_answer_problem(c, 400, "The body must be one JSON object.");
        return false;
    }
    struct str twice = json_repeated_member(value);
    if (twice.p) {
        problem_add(&c->problems, twice, "invalid", "The member is given twice. Give it once.");
        call_answer_invalid(c);
        return false;
    }
    *ret_object = value;
    return true;
}
