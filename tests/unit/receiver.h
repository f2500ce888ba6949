/* A receiver for tests: a thread that accepts connections on a loopback port, one after the
 * other, and hands each to `serve`, which misbehaves as the test asks, with blocking calls. */
#pragma once

#include "base/check.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct receiver {
    void (*serve)(struct receiver *r, int fd, int number); /* closes fd; number: 0, 1, ... */
    const char *text;                                      /* for serve */
    void *context;                                         /* for serve */
    char request[4096]; /* the last one read by receiver_read_request */
    _Atomic int accepted, requests;
    uint16_t port;
    int listen_fd;
    _Atomic int fd; /* being served */
    pthread_t thread;
};

/* Reads one request with its body; false: the peer closed first. */
bool receiver_read_request(struct receiver *r, int fd);

void receiver_say(int fd, const char *text);

/* Until the peer closes, or the receiver is stopped. */
void receiver_wait_for_end(int fd);

/* Ends the connection with a reset instead of an orderly close. */
void receiver_reset(int fd);

uint16_t receiver_listen(int *ret_fd, const char *where, int backlog);

/* The upper part filled, `serve` NULL: receiver_answer. */
void receiver_start_at(struct receiver *r, const char *where);

void receiver_start(struct receiver *r);

void receiver_stop(struct receiver *r);
