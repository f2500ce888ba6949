/* All bytes of the body are fixed at acceptance but those of Sig (and Signature): a retry days
 * later, after a rotation, is signed with what the partner has then. EventIds are plain ASCII
 * without spaces (contract, section 1), so they can stand in a header as they are. */
#include "delivery/request.h"

#include "domain/clock.h"
#include "domain/payload.h"
#include "domain/signature.h"

#define HEADERS_BYTES_LIKELY 320 /* room at once, not in steps */

struct request_source request_of_test(const struct event *e)
{
    return (struct request_source){
        .event_id = e->event_id,
        .panelist_id = e->panelist_id,
        .body = e->body,
        .signature_offset = e->signature_offset,
        .is_test = true,
        .number = 1,
        .occurred_ms = e->occurred_ms,
    };
}

void request_build(struct buf *headers, struct buf *body, const struct request_source *from,
                   const struct app *app, int64_t wall_ms)
{
    char hex[SIG_HEX_BYTES];
    signature_sig(from->panelist_id, from->event_id, secrets_sig(&app->secrets, wall_ms), hex);
    size_t begin = body->n;
    buf_add_str(body, from->body);
    payload_sign(body->p + begin, from->signature_offset, hex);
    struct str signed_body = {body->p + begin, body->n - begin};

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
        signature_webhook(secrets[i], from->event_id, timestamp_s, signed_body, text);
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
}
