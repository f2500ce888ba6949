/* A callback is one allocation: the struct, then its texts. Thousands wait in memory, and one is
 * made and freed for each event, so that a single malloc pays off. */
#include "store/callback.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

static struct str place_text(char **at, struct str text)
{
    if (!text.p)
        return STR_NONE;
    char *p = *at;
    if (text.n)
        memcpy(p, text.p, text.n);
    p[text.n] = '\0';
    *at += text.n + 1;
    return (struct str){p, text.n};
}

struct callback *callback_new(const struct event *e, const struct callback_life *life)
{
    ASSERT(e->lane != LANE_NONE);
    size_t bytes =
        sizeof(struct callback) + e->event_id.n + e->panelist_id.n + e->body.n + 3 /* NULs */;
    struct callback *c = xmalloc(bytes);
    *c = (struct callback){
        .magic = CALLBACK_MAGIC,
        .bytes = (uint32_t)bytes,
        .account_no = e->account_no,
        .app_no = e->app_no,
        .event_no = e->event_no,
        .type = e->type,
        .lane = e->lane,
        .is_test = e->is_test,
        .signature_offset = e->signature_offset,
        .original_no = e->original_no,
        .occurred_ms = e->occurred_ms,
        .accepted_ms = e->accepted_ms,
        .revenue_micros = e->revenue_micros,
        .reward_micros = e->reward_micros,
        .place = life->place,
        .attempts_made = life->attempts > 0 ? life->attempts : 0,
        .manual = life->manual,
        .was_delivered = life->state == CALLBACK_DELIVERED,
    };
    char *at = (char *)(c + 1);
    c->event_id = place_text(&at, e->event_id);
    c->panelist_id = place_text(&at, e->panelist_id);
    c->body = place_text(&at, e->body);
    return c;
}

struct outcome_presumed callback_presumed(const struct callback *c)
{
    if (!c->presumed_due_ms)
        return (struct outcome_presumed){0};
    return (struct outcome_presumed){
        .due_ms = c->presumed_due_ms,
        .type = c->type,
        .is_test = c->is_test,
        .occurred_ms = c->occurred_ms,
        .accepted_ms = c->accepted_ms,
        .revenue_micros = c->revenue_micros,
        .reward_micros = c->reward_micros,
        .event_id = c->event_id,
    };
}

void callback_free(struct callback *c)
{
    CHECK_MAGIC(c, CALLBACK_MAGIC);
    c->magic = 0;
    free(c);
}
