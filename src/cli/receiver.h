/* A partner's receiver: takes callbacks, verifies both signatures, and answers as configured. Used
 * by `receive` and `demo`; runs on one loop. */
#pragma once

#include "base/check.h"
#include "http/server.h"
#include "net/loop.h"
#include "net/socket.h"

/* The results for one callback; texts are valid during the call. */
struct received {
    struct str path, reward_type, reward_id, reward;
    const struct http_request *request;
    bool readable; /* its body or query has a callback's fields */
    bool sig_good;
    bool webhook_good;
    bool duplicate; /* this RewardId came before */
    int status;     /* the answer */
};

struct receiver_options {
    struct endpoint listen;
    /* The secret of the app with this path; absent: unknown, so nothing verifies. */
    struct str (*secret_of)(void *context, struct str path);
    /* The status to answer with, and after how many milliseconds. Called once per request. */
    int (*status_of)(void *context, struct str path, int64_t *ret_delay_ms);
    /* Called for each callback; may be NULL. */
    void (*received)(void *context, const struct received *r);
    void *context;
};

struct receiver;

/* Starts a thread with its own loop, on which the functions above are called. NULL: listening on
 * the address failed with *ret_errno. */
struct receiver *receiver_start(const struct receiver_options *options, int *ret_errno);
struct endpoint receiver_address(const struct receiver *r);
void receiver_stop(struct receiver *r);
