/* A name server for tests: a thread on a loopback UDP port with a table of names. */
#pragma once

#include "base/check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct name_record {
    const char *name;
    const char *addresses[3]; /* A and AAAA */
    uint32_t ttl_s;
    int rcode; /* 0, 2 SERVFAIL; -1: no answer at all. Names not in the table: NXDOMAIN */
};

struct name_server {
    const struct name_record *records; /* name NULL ends */
    _Atomic int questions;             /* for A: one per look-up */
    int fd;
    char where[32]; /* "127.0.0.1:port" */
    uint16_t port;  /* 0: any; the one that it got stays for the next start */
    pthread_t thread;
};

void name_server_start(struct name_server *s, const struct name_record *records);

void name_server_stop(struct name_server *s);
