/* Health of the endpoints of one account or of all accounts: the number in each state, and the
 * worst ones in full. Each node answers for its own lanes with lines of text; the node that was
 * asked joins the answers. */
#pragma once

#include "api/endpoint_render.h"
#include "base/arena.h"

#define ACCOUNT_HEALTH_LISTED 50 /* in full; all are counted */

/* An app or a partner that has an endpoint which is not healthy. */
struct health_group {
    struct str id;
    enum endpoint_health worst;
    int64_t not_healthy;
};
struct health_groups {
    struct health_group *items;
    size_t count, capacity;
};

struct health_item {
    enum endpoint_health health;
    int64_t waiting;
    struct str json;
};

/* Zero-initialised is empty. */
struct account_health {
    struct arena arena; /* ids and items */
    int64_t counts[ENDPOINT_HEALTHS];
    struct health_groups apps, partners;
    struct health_item *items;
    size_t item_count, item_capacity;
    bool more; /* some unhealthy ones are only counted */
};

void account_health_free(struct account_health *h);
/* Counts one endpoint. name_apps: also adds its app to `apps`. */
void account_health_count(struct account_health *h, const struct app *app,
                          enum endpoint_health health, bool name_apps);
void account_health_list(struct account_health *h, enum endpoint_health health, int64_t waiting,
                         struct str json);

/* One node's part, with the numbers of the apps that it covers. */
void account_health_print_part(struct buf *to, const struct account_health *h,
                               const uint32_t *app_nos, size_t app_count);
/* Calls is_about with the number of each app that a node's part covers. */
void account_health_part_apps(struct str part, void (*is_about)(void *context, uint32_t app_no),
                              void *context);
void account_health_add_part(struct account_health *h, struct str part);

/* The `AccountEndpoints` of openapi_components.json. */
void account_health_print(struct json_writer *w, struct account_health *h);
