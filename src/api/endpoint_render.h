/* Prints the health of one endpoint as JSON: the `Endpoint` of openapi_components.json. */
#pragma once

#include "delivery/delivery.h"
#include "json/writer.h"

/* An endpoint's health in one word; the worst first. */
enum endpoint_health {
    ENDPOINT_DISABLED, /* by 410s */
    ENDPOINT_SUSPENDED,
    ENDPOINT_HOST_DOWN,
    ENDPOINT_PAUSED,  /* the receiver asked for it */
    ENDPOINT_FAILING, /* open, but in the last hour more attempts failed than succeeded */
    ENDPOINT_APP_DISABLED,
    ENDPOINT_UNKNOWN, /* the node that sends to it did not answer in time */
    ENDPOINT_OPEN,
    ENDPOINT_NOT_CONFIGURED,
};
#define ENDPOINT_HEALTHS 9
#define ENDPOINT_HEALTHY ENDPOINT_OPEN /* from here on the endpoint needs no attention */

/* Each app has three endpoints, with or without a URL; the one for tests exists only with a URL. */
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
