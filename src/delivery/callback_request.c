/* Builds the request of an attempt.
 *
 * The body is fixed at acceptance except for the bytes of Sig (and Signature): a retry days later,
 * after a rotation, is signed with the partner's current secret. EventIds are plain ASCII without
 * spaces (contract, section 1), so that they can be header values without escaping. */
#include "delivery/callback_request.h"

#include "domain/clock.h"
#include "domain/payload.h"
#include "domain/traceparent.h"

#define HEADERS_BYTES_LIKELY 320 /* allocated at once instead of in steps */

struct request_source request_of_test(const struct event *e, enum request_format format,
                                      struct str target)
{
    return (struct request_source){
        .event_id = e->event_id,
        .panelist_id = e->panelist_id,
        .body = e->body,
        .target = target,
        .signature_offset = e->signature_offset,
        .format = format,
        .is_test = true,
        .number = 1,
        .occurred_ms = e->occurred_ms,
    };
}

/* Writes target and body in other formats than JSON to a URL without macros. Returns the text to
 * sign: for a GET, path and query as they are sent. */
static struct str shape(struct callback_request *r, const struct request_source *from,
                        struct str secret)
{
    struct buf json = r->body;
    struct request_facts facts = {
        .body = buf_str(&json),
        .occurred_ms = from->occurred_ms,
        .is_test = from->is_test,
        .secret = secret,
    };
    if (request_has_values(from->format, from->target))
        request_print_target(&r->target, from->target, from->format, &facts);
    if (from->format != REQUEST_JSON) {
        r->body = (struct buf){0};
        request_print_body(&r->body, from->format, facts.body);
        buf_free(&json);
    }
    return buf_str(from->format == REQUEST_GET ? &r->target : &r->body);
}

static void print_headers(struct buf *headers, const struct request_source *from,
                          const struct app *app, int64_t wall_ms, struct str signed_text)
{
    int64_t timestamp_s = wall_ms / 1000;
    buf_reserve(headers, HEADERS_BYTES_LIKELY);
    char text[WEBHOOK_SIGNATURE_BYTES];
    buf_add_c(headers, "webhook-id: ");
    buf_add_str(headers, from->event_id);
    buf_add_c(headers, "\r\nwebhook-timestamp: ");
    buf_add_int(headers, timestamp_s);
    buf_add_c(headers, "\r\nwebhook-signature: ");
    struct str secrets[LIVE_SECRETS_MOST];
    size_t count = secrets_live(&app->secrets, wall_ms, secrets);
    for (size_t i = 0; i < count; i++) {
        signature_webhook(secrets[i], from->event_id, timestamp_s, signed_text, text);
        buf_add_c(headers, i ? " " : "");
        buf_add_c(headers, text);
    }
    buf_add_c(headers, "\r\nPostbackd-Attempt: ");
    buf_add_int(headers, from->number);
    buf_add_c(headers, "\r\nPostbackd-Event-Time: ");
    clock_print(headers, from->occurred_ms);
    buf_add_c(headers, "\r\n");
    if (from->is_test)
        buf_add_c(headers, "Postbackd-Test: true\r\n");
    char traceparent[TRACEPARENT_BYTES + 1];
    if (traceparent_unpack(from->body.p + BODY_SIG_OFFSET, traceparent))
        buf_printf(headers, "traceparent: %s\r\n", traceparent);
}

void request_build(struct callback_request *r, const struct request_source *from,
                   const struct app *app, int64_t wall_ms)
{
    struct str secret = secrets_sig(&app->secrets, wall_ms);
    signature_sig(from->panelist_id, from->event_id, secret, r->sig);
    buf_add_str(&r->body, from->body);
    payload_sign(r->body.p, from->signature_offset, r->sig);
    struct str signed_text = buf_str(&r->body);
    if (!request_is_plain(from->format, from->target))
        signed_text = shape(r, from, secret);
    print_headers(&r->headers, from, app, wall_ms, signed_text);
}

void request_free(struct callback_request *r)
{
    buf_free(&r->headers);
    buf_free(&r->body);
    buf_free(&r->target);
}
