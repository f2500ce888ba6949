/* Erasures, which drop callbacks from memory, and questions about attempts under way, for all lanes
 * of one account. */
#include "delivery/dispatcher.h"

#include "base/alloc.h"
#include "base/check.h"

struct lanes_erasure {
    struct dispatcher *dispatcher;
    uint32_t account_no;
    struct str panelist_id;
};

/* A page that was read before the erasure may arrive after it: discard it. */
static void spoil_page(const struct lanes_erasure *e, struct lane *lane)
{
    struct app *app =
        directory_app_by_no(e->dispatcher->delivery->options.directory, lane_app_no(lane->no));
    if (!app || app->terms.account_no == e->account_no)
        lane_spoil_page(lane);
    app_unref(app);
}

static void erase_in_lane(void *context, struct hash_node *node)
{
    const struct lanes_erasure *e = context;
    struct lane *lane = CONTAINER_OF(node, struct lane, node);
    if (lane->scans.is_asked)
        spoil_page(e, lane);
    if (lane_erase(lane, e->account_no, e->panelist_id) > 0)
        dispatcher_touch(e->dispatcher, lane);
}

/* Callbacks that the store read before may show the panelist: when they arrive they are looked up
 * again, whatever account they are of. Few are on their way at any moment. */
static void note_erasure(struct dispatcher *d, int64_t mono_ms)
{
    if (d->shared.erased_mono_ms < mono_ms)
        d->shared.erased_mono_ms = mono_ms;
}

void dispatcher_erase(struct dispatcher *d, uint32_t account_no, struct str panelist_id,
                      int64_t mono_ms)
{
    CHECK_MAGIC(d, DISPATCHER_MAGIC);
    note_erasure(d, mono_ms);
    struct lanes_erasure e = {d, account_no, panelist_id};
    hash_map_visit(&d->lanes, erase_in_lane, &e);
}

static void reread_lane(void *context, struct hash_node *node)
{
    const struct lanes_erasure *e = context;
    struct lane *lane = CONTAINER_OF(node, struct lane, node);
    struct app *app =
        directory_app_by_no(e->dispatcher->delivery->options.directory, lane_app_no(lane->no));
    if (app && app->terms.account_no == e->account_no) {
        lane_reread(lane);
        lane_spoil_page(lane);
        dispatcher_touch(e->dispatcher, lane);
    }
    app_unref(app);
}

void dispatcher_reread(struct dispatcher *d, uint32_t account_no, int64_t mono_ms)
{
    CHECK_MAGIC(d, DISPATCHER_MAGIC);
    note_erasure(d, mono_ms);
    struct lanes_erasure e = {.dispatcher = d, .account_no = account_no};
    hash_map_visit(&d->lanes, reread_lane, &e);
}

void dispatcher_add_tried(struct dispatcher *d, struct delivery_tried *tried)
{
    CHECK_MAGIC(d, DISPATCHER_MAGIC);
    for (struct link *link = d->attempts.under_way.first; link; link = link->next) {
        const struct callback *c = CONTAINER_OF(link, struct delivery_attempt, link)->callback;
        if (!c || c->account_no != tried->account_no || c->was_delivered)
            continue;
        tried->event_nos =
            xgrow(tried->event_nos, &tried->capacity, tried->count + 1, sizeof(uint64_t));
        tried->event_nos[tried->count++] = c->event_no;
    }
}
