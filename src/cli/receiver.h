/* A partner's server on loopback: takes callbacks, verifies both signatures, and answers as it is
 * told. Behind `receive` and `demo`; it runs on one loop. */
#pragma once

#include "base/check.h"
#include "http/server.h"
#include "net/loop.h"
#include "net/socket.h"

/* What one callback turned out to be; texts are valid during the call. */
struct received {
    struct str path, reward_type, reward_id, reward;
    const struct http_request *request;
    bool readable; /* its body or query has the fields of a callback by their names */
    bool sig_good;
    bool webhook_good;
    bool duplicate; /* this RewardId came before */
    int status;     /* what was answered */
};

struct receiver_options {
    struct endpoint listen;
    /* The secret of the app that this path belongs to; absent: unknown, nothing verifies. */
    struct str (*secret_of)(void *context, struct str path);
    /* The status to answer with, and after how many milliseconds. Called once per request. */
    int (*status_of)(void *context, struct str path, int64_t *ret_delay_ms);
    /* Told of each callback; may be NULL. */
    void (*received)(void *context, const struct received *r);
    void *context;
};

struct receiver;

/* Starts a thread with a loop of its own; NULL with *ret_errno when the address cannot be
 * listened on. The callbacks above run on that thread. */
struct receiver *receiver_start(const struct receiver_options *options, int *ret_errno);
struct endpoint receiver_address(const struct receiver *r);
void receiver_stop(struct receiver *r);
