/* The memory of attempts: ended ones are kept for reuse. */
#include "delivery/dispatcher.h"

#include "base/alloc.h"

#include <stdlib.h>

#define SPARE_ATTEMPTS 256
#define SPARE_ATTEMPT_BYTES 8192

/* Takes an attempt for reuse, empty except for its six buffers' memory: allocating them for each
 * attempt was a tenth of the loop's work for it. */
struct delivery_attempt *dispatcher_take_attempt(struct dispatcher *d)
{
    struct link *link = d->attempts.spare.last; /* the one used last is most likely in the cache */
    if (!link)
        return xcalloc(1, sizeof(struct delivery_attempt));
    list_remove(&d->attempts.spare, link);
    struct delivery_attempt *t = CONTAINER_OF(link, struct delivery_attempt, link);
    struct callback_request request = t->request;
    struct buf request_headers = t->x.request_headers, response = t->x.response_headers,
               response_body = t->x.response_body;
    buf_clear(&request.headers);
    buf_clear(&request.body);
    buf_clear(&request.target);
    *t = (struct delivery_attempt){.request = request};
    t->x.request_headers = request_headers;
    t->x.response_headers = response;
    t->x.response_body = response_body;
    return t;
}

static void attempt_free(struct delivery_attempt *t)
{
    exchange_free_results(&t->x);
    request_free(&t->request);
    free(t);
}

/* Keeps the attempt for reuse, unless enough are kept or its memory has grown large. */
static void attempt_give(struct dispatcher *d, struct delivery_attempt *t)
{
    const struct callback_request *r = &t->request;
    size_t bytes = r->headers.capacity + r->body.capacity + r->target.capacity +
                   t->x.request_headers.capacity + t->x.response_headers.capacity +
                   t->x.response_body.capacity;
    app_unref(t->app);
    t->link = (struct link){0};
    if (d->attempts.spare.count < SPARE_ATTEMPTS && bytes <= SPARE_ATTEMPT_BYTES)
        list_push(&d->attempts.spare, &t->link);
    else
        attempt_free(t);
}

void dispatcher_free_finished(struct dispatcher *d)
{
    struct link *link = d->attempts.finished.first;
    d->attempts.finished = (struct list){0};
    while (link) {
        struct delivery_attempt *t = CONTAINER_OF(link, struct delivery_attempt, link);
        link = link->next;
        attempt_give(d, t);
    }
}

void dispatcher_free_spare(struct dispatcher *d)
{
    struct link *link = d->attempts.spare.first;
    d->attempts.spare = (struct list){0};
    while (link) {
        struct delivery_attempt *t = CONTAINER_OF(link, struct delivery_attempt, link);
        link = link->next;
        attempt_free(t);
    }
}
