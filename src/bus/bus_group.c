/* Turns messages into stored events. Each message is read like a body of POST /api/v1/events. The
 * candidates of all go to the store as one batch, in the order of the messages: a reversal may name
 * an original of the message before it. Each rejected item becomes a letter. */
#include "bus/bus_inside.h"

#include "base/alloc.h"
#include "base/limits.h"

#include <stdlib.h>

/* A larger message is a batch of its own. A valid event has at least 86 bytes, so several messages
 * together never have more valid events than a batch allows. */
#define GROUP_BYTES (512 << 10)

struct read_message {
    enum intake_format format;
    enum intake_result result; /* if `failure` is absent */
    struct intake_items items;
    struct str failure; /* why the whole message is rejected */
};

static struct str value_of(const rd_kafka_message_t *m)
{
    return (struct str){m->payload, m->payload ? m->len : 0};
}

static size_t count_messages(const struct bus *b)
{
    size_t n = 1, bytes = b->waiting[0]->len;
    while (n < b->waiting_count && bytes + b->waiting[n]->len <= GROUP_BYTES)
        bytes += b->waiting[n++]->len;
    return n;
}

static struct str header_of(const rd_kafka_message_t *m, const char *name)
{
    rd_kafka_headers_t *headers = NULL;
    const void *value = NULL;
    size_t n = 0;
    if (rd_kafka_message_headers(m, &headers) != 0 ||
        rd_kafka_header_get_last(headers, name, &value, &n) != 0)
        return STR_NONE;
    return (struct str){value, value ? n : 0};
}

static void read_message(struct bus *b, const rd_kafka_message_t *m, int64_t now_ms,
                         struct read_message *ret)
{
    struct buf text = {0};
    struct str why = STR_NONE;
    struct intake_request request = {
        .body = value_of(m),
        .format = intake_format_of(header_of(m, "content-type")),
        .now_ms = now_ms,
        .traceparent = header_of(m, "traceparent"),
    };
    *ret = (struct read_message){0};
    if (request.body.n > LIMIT_REQUEST_BODY_BYTES) {
        buf_printf(&text, "the message is too large; %d bytes are taken", LIMIT_REQUEST_BODY_BYTES);
    } else if (request.format == INTAKE_UNSUPPORTED) {
        buf_add_c(&text, INTAKE_UNSUPPORTED_TEXT);
    } else {
        if (!request.body.p)
            request.body = STR("");
        enum intake_result result =
            intake_read(b->intake, &request, &b->group.arena, &ret->items, &why);
        if (result != INTAKE_READ)
            intake_print_unread(&text, result, why);
    }
    if (text.n)
        ret->failure = arena_take(&b->group.arena, &text);
}

/* --- clients that other nodes know: as api/events.c has it ----------------------------------- */

struct catch_up {
    struct task task;
    struct control *control;
    struct waiter *waiter;
    int64_t asked_mono_ms;
    enum store_status status;
};

static void run_catch_up(struct task *task)
{
    struct catch_up *c = CONTAINER_OF(task, struct catch_up, task);
    c->status = control_catch_up_since(c->control, c->asked_mono_ms);
    task->run = waiter_wake;
    executor_post(&c->waiter->executor, task);
}

enum store_status bus_catch_up(struct control *control, struct waiter *waiter, struct env *env)
{
    struct catch_up c = {.task = {.run = run_catch_up, .owner = OWNER_EVENTS},
                         .control = control,
                         .waiter = waiter,
                         .asked_mono_ms = env_mono_ms(env)};
    control_post(control, &c.task);
    waiter_wait(waiter);
    return c.status;
}

/* --- letters ---------------------------------------------------------------------------------- */

static struct letter *add_letter(struct group *g, const rd_kafka_message_t *m)
{
    g->letters = xgrow(g->letters, &g->letter_room, g->letter_count + 1, sizeof *g->letters);
    struct letter *l = &g->letters[g->letter_count++];
    *l = (struct letter){.of = m};
    return l;
}

struct rejecting {
    struct bus *bus;
    const rd_kafka_message_t *of;
};

static void add_rejection(void *context, const struct intake_rejection *r)
{
    struct rejecting *to = context;
    struct arena *arena = &to->bus->group.arena;
    struct letter *l = add_letter(&to->bus->group, to->of);
    const struct problem *first = r->faults.first;
    to->bus->group.rejected++;
    struct buf json = {0};
    struct json_writer w;
    json_write_to(&w, &json);
    intake_print_rejection(&w, r);
    l->value = r->source;
    l->reason = arena_str(arena, first->detail);
    l->field = arena_str(arena, first->field);
    l->code = str_of(first->code);
    l->rejection = arena_take(arena, &json);
}

static void add_letters(struct bus *b, const struct read_message *read, size_t n,
                        const struct verdict *verdicts)
{
    for (size_t i = 0; i < n; i++) {
        struct rejecting to = {.bus = b, .of = b->waiting[i]};
        if (read[i].failure.p) {
            struct letter *l = add_letter(&b->group, to.of);
            l->value = value_of(to.of);
            l->cut = l->value.n > LIMIT_REQUEST_BODY_BYTES ? LETTER_NO_VALUE : LETTER_WHOLE;
            l->reason = read[i].failure;
            continue;
        }
        intake_visit_rejections(&read[i].items, verdicts, add_rejection, &to);
        verdicts += read[i].items.count;
    }
}

/* --- the batch -------------------------------------------------------------------------------- */

/* Reads at most n messages, and stops after the one with which they have as many events, valid or
 * not, as a request may have: each invalid one becomes a letter. */
static struct read_message *read_messages(struct bus *b, size_t *n, bool *ret_doubt,
                                          struct intake_batch *ret)
{
    struct read_message *read = arena_zalloc(&b->group.arena, *n * sizeof *read);
    size_t rejected = 0;
    *ret = (struct intake_batch){.received_ms = env_wall_ms(b->options.env)};
    *ret_doubt = false;
    for (size_t i = 0; i < *n; i++) {
        read_message(b, b->waiting[i], ret->received_ms, &read[i]);
        ret->count += read[i].items.count;
        rejected += read[i].items.rejected_count;
        ret->bytes += b->waiting[i]->len;
        *ret_doubt |= read[i].items.doubt;
        if (ret->count + rejected >= LIMIT_EVENTS_PER_REQUEST)
            *n = i + 1;
    }
    ret->items = arena_alloc(&b->group.arena, ret->count * sizeof *ret->items);
    for (size_t i = 0, at = 0; i < *n; at += read[i++].items.count)
        if (read[i].items.count)
            memcpy(&ret->items[at], read[i].items.items, read[i].items.count * sizeof *ret->items);
    return read;
}

static enum store_status submit(struct bus *b, struct intake_batch *batch)
{
    if (!batch->count)
        return STORE_OK;
    batch->arena = b->group.arena; /* the store keeps using it */
    batch->bytes += batch->arena.total_bytes;
    batch->done.run = waiter_wake;
    batch->reply_to = &b->waiter.executor;
    store_submit(b->options.store, batch);
    waiter_wait(&b->waiter);
    b->group.arena = batch->arena;
    return batch->status;
}

enum store_status group_store(struct bus *b)
{
    size_t n = count_messages(b);
    struct intake_batch batch;
    bool doubt;
    enum store_status status = STORE_OK;
    struct read_message *read = read_messages(b, &n, &doubt, &batch);
    if (doubt && store_leases(b->options.store)) {
        group_drop(b);
        status = bus_catch_up(b->control, &b->waiter, b->options.env);
        read = read_messages(b, &n, &doubt, &batch);
    }
    if (status == STORE_OK)
        status = submit(b, &batch);
    if (status != STORE_OK) {
        group_drop(b);
        return status;
    }
    add_letters(b, read, n, batch.verdicts);
    b->group.messages = n;
    b->group.is_durable = true;
    b->options.taken(b->options.context, &batch, b->group.rejected);
    return STORE_OK;
}

void group_drop(struct bus *b)
{
    free(b->group.letters);
    arena_free(&b->group.arena);
    b->group = (struct group){0};
}
