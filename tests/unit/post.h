/* For tests of the sender: one exchange at a time, from a URL to its results. */
#pragma once

#include "base/buf.h"
#include "base/check.h"
#include "base/limits.h"
#include "net/tls.h"
#include "send/send.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include "receiver.h"

struct post {
    struct loop *loop;
    struct sender *sender;
    struct arena arena; /* of the URLs */
    struct exchange x;  /* of the last post */
    int under_way;
    int64_t connect_timeout_ms; /* 0: like the whole exchange's */
    const char *ca_file;        /* NULL: the system's */
};

extern struct post post;

/* Loopback as far as `allowed` (a CIDR, or NULL) says; change what the test is about. */
struct sender_options post_options(const char *allowed);

void post_open_with(const struct sender_options *options);

/* ca_file, dns_server: NULL or as in sender_options. */
void post_open(const char *allowed, const char *ca_file, const char *dns_server);

void post_close(void);

void post_start(struct exchange *x, const char *url, int64_t timeout_ms);

/* %u in the URL becomes the port. */
void post_to(const char *url_format, unsigned port, int64_t timeout_ms);

bool post_says(const char *part);

/* Lets the loop go on for what no exchange waits for. */
void post_pause(int64_t ms);
