/* Prints the health of one endpoint as JSON: the `Endpoint` of openapi_components.json. */
#pragma once

#include "delivery/delivery.h"
#include "json/writer.h"

/* What people are told of an endpoint in one word; the worst first. */
enum endpoint_health {
    ENDPOINT_DISABLED, /* by 410s */
    ENDPOINT_SUSPENDED,
    ENDPOINT_HOST_DOWN,
    ENDPOINT_PAUSED,  /* the receiver asked for it */
    ENDPOINT_FAILING, /* open, but of the last hour's tries more failed than succeeded */
    ENDPOINT_APP_DISABLED,
    ENDPOINT_UNKNOWN, /* the node that sends to it did not answer in time */
    ENDPOINT_OPEN,
    ENDPOINT_NOT_CONFIGURED,
};
#define ENDPOINT_HEALTHS 9
#define ENDPOINT_HEALTHY ENDPOINT_OPEN /* from here on nothing is the matter */

/* Each app has three endpoints, with or without a URL; that of tests it has only with one. */
static inline bool endpoint_exists(const struct app *app, enum lane_kind kind)
{
    return kind != LANE_TEST || app->url[kind].p;
}

const char *endpoint_health_name(enum endpoint_health health); /* "host_down" */
enum endpoint_health endpoint_health_of(const struct app *app, enum lane_kind kind,
                                        const struct lane_brief *brief);

struct endpoint_view {
    const struct app *app;
    enum lane_kind kind;
    int64_t waiting, oldest_waiting_ms; /* by the store; 0: none */
    const struct lane_health *health;
    int64_t now_ms; /* wall */
};
/* The whole object. */
void endpoint_render(struct json_writer *w, const struct endpoint_view *view);
