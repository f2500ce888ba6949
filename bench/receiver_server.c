/* See receiver_server.h. */
#include "receiver_server.h"

#include "base/alloc.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define READ_BYTES 65536

void receiver_answer(struct peer *p, const char *body)
{
    struct buf out = {0};
    buf_printf(&out, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(body), body);
    if (write(p->fd, out.p, out.n) != (ssize_t)out.n)
        perror("write");
    buf_free(&out);
}

void receiver_serve(const struct receiver *r, struct peer *p)
{
    while (!p->answers_later) {
        const char *head = buf_c(&p->in), *end = strstr(head, "\r\n\r\n");
        if (!end)
            return;
        const char *length = strcasestr(head, "content-length:");
        size_t body = length && length < end ? strtoul(length + 15, NULL, 10) : 0;
        size_t whole = (size_t)(end + 4 - head) + body;
        if (p->in.n < whole)
            return;
        r->request(p, head, end + 4);
        buf_consume(&p->in, whole);
    }
}

static void receive(const struct receiver *r, struct peer *p)
{
    struct timespec t;
    ssize_t got = read(p->fd, buf_reserve(&p->in, READ_BYTES), READ_BYTES);
    if (got <= 0) {
        close(p->fd);
        buf_free(&p->in);
        if (p->answers_later)
            r->gone(p);
        free(p);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &t);
    p->read_us = (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
    p->in.n += (size_t)got;
    receiver_serve(r, p);
}

static void take_peer(int epoll, int listener)
{
    int fd = accept(listener, NULL, NULL), on = 1;
    if (fd < 0)
        return;
    struct peer *p = xcalloc(1, sizeof *p);
    p->fd = fd;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = p};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) != 0)
        exit(1);
}

int receiver_run(const struct receiver *r, const char *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)strtol(port, NULL, 10)),
                             .sin_addr.s_addr = htonl(r->address)};
    int listener = socket(AF_INET, SOCK_STREAM, 0), epoll = epoll_create1(0), on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 4096) != 0) {
        perror("listen");
        return 1;
    }
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = NULL}, events[256];
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &e);
    for (;;) {
        int n = epoll_wait(epoll, events, 256, r->due ? r->due() : -1);
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr)
                receive(r, events[i].data.ptr);
            else
                take_peer(epoll, listener);
        }
    }
}
