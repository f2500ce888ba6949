/* Prints the answer of GET /api/v1/system from numbers that system.c has collected. */
#pragma once

#include "delivery/delivery.h"
#include "operations/operations.h"
#include "services/books_watch.h"
#include "services/certificate_watch.h"
#include "services/link_mail.h"
#include "json/writer.h"

/* An endpoint that needs attention. */
struct system_endpoint {
    struct app *app;
    enum lane_kind kind;
    int64_t waiting, oldest_waiting_ms; /* by the store; 0: none */
    struct lane_health health;
};

struct system_numbers {
    int64_t now_ms, started_ms;
    const char *version;
    struct store_numbers store;
    struct delivery_numbers delivery;
    const struct delivery_overview *overview;
    struct books_state books;
    struct operations_numbers operations;
    struct link_mail_numbers link_mails;
    struct certificate_state certificates;
    const struct cluster_state *clusters;
    size_t cluster_count;
    int cluster_to_move; /* -1: none */
    const struct system_endpoint *endpoints;
    size_t endpoint_count;
};

void system_print(struct json_writer *w, const struct system_numbers *n);
