/* The struct behind `struct api` and `struct api_loop` (api.h), for the files of api/ only. */
#pragma once

#include "api/api.h"
#include "intake/intake.h"
#include "people/throttle.h"
#include "services/account_limits.h"
#include "services/rate_limit.h"

#include <stdatomic.h>

/* Prints the answer of GET /openapi.json. */
void openapi_print(struct buf *to, const struct api_options *o);

#define API_MAGIC 0xA9100A91u

struct api {
    uint32_t magic;
    struct api_options options;
    atomic_bool accepting;
    atomic_llong events_rejected; /* rejected items of events */
    int64_t started_ms;
    struct rate_limit *limit;
    atomic_int bodies_days;
    struct account_limits *accounts;
    struct forwards *forwards;
    struct buf openapi; /* the answer to GET /openapi.json */
    /* Failed sign-ins: api/tries.c. */
    struct throttle *account_tries, *pair_tries, *client_tries, *device_tries;
    struct throttle *mails; /* links that an account has sent by e-mail */
};

struct api_loop {
    uint32_t magic;
    struct api *api;
    struct loop *loop;
    struct intake *intake;
};
