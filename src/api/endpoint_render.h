/* How one endpoint does, as JSON: the `Endpoint` of openapi_components.json. */
#pragma once

#include "delivery/delivery.h"
#include "json/writer.h"

struct endpoint_view {
    const struct app *app;
    enum lane_kind kind;
    int64_t waiting, oldest_waiting_ms; /* by the store; 0: none */
    const struct lane_health *health;
    int64_t now_ms; /* wall */
};
/* The whole object. */
void endpoint_render(struct json_writer *w, const struct endpoint_view *view);
