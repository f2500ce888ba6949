/* A thread that accepts, and calls on blocking sockets. */
#include "receiver.h"

#include <arpa/inet.h>
#include <stdlib.h>

bool receiver_read_request(struct receiver *r, int fd)
{
    size_t n = 0;
    while (n < sizeof r->request - 1) {
        ssize_t got = recv(fd, r->request + n, sizeof r->request - 1 - n, 0);
        if (got <= 0)
            return false;
        n += (size_t)got;
        r->request[n] = '\0';
        const char *end = strstr(r->request, "\r\n\r\n");
        const char *length = strstr(r->request, "Content-Length: ");
        if (end && length && n >= (size_t)(end + 4 - r->request) + (size_t)atol(length + 16)) {
            atomic_fetch_add(&r->requests, 1);
            return true;
        }
    }
    return false;
}

void receiver_say(int fd, const char *text)
{
    size_t n = strlen(text);
    while (n > 0) {
        ssize_t put = send(fd, text, n, MSG_NOSIGNAL);
        if (put <= 0)
            return;
        text += put;
        n -= (size_t)put;
    }
}

void receiver_wait_for_end(int fd)
{
    char some[4096];
    while (recv(fd, some, sizeof some, 0) > 0)
        continue;
}

/* Answers each request with r->text, keeping the connection. */
static void receiver_answer(struct receiver *r, int fd, int number)
{
    (void)number;
    while (receiver_read_request(r, fd))
        receiver_say(fd, r->text);
}

void receiver_reset(int fd)
{
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

static void *receiver_run(void *arg)
{
    struct receiver *r = arg;
    for (int number = 0;; number++) {
        int fd = accept(r->listen_fd, NULL, NULL);
        if (fd < 0)
            return NULL;
        atomic_store(&r->fd, fd);
        atomic_fetch_add(&r->accepted, 1);
        r->serve(r, fd, number);
        atomic_store(&r->fd, -1);
        close(fd);
    }
}

uint16_t receiver_listen(int *ret_fd, const char *where, int backlog)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t n = sizeof at;
    *ret_fd = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT(*ret_fd >= 0 && inet_pton(AF_INET, where, &at.sin_addr) == 1);
    ASSERT(bind(*ret_fd, (struct sockaddr *)&at, n) == 0 && listen(*ret_fd, backlog) == 0);
    ASSERT(getsockname(*ret_fd, (struct sockaddr *)&at, &n) == 0);
    return ntohs(at.sin_port);
}

void receiver_start_at(struct receiver *r, const char *where)
{
    if (!r->serve)
        r->serve = receiver_answer;
    atomic_store(&r->fd, -1);
    r->port = receiver_listen(&r->listen_fd, where, 16);
    ASSERT(pthread_create(&r->thread, NULL, receiver_run, r) == 0);
}

void receiver_start(struct receiver *r)
{
    receiver_start_at(r, "127.0.0.1");
}

void receiver_stop(struct receiver *r)
{
    shutdown(r->listen_fd, SHUT_RDWR);
    int fd = atomic_load(&r->fd);
    if (fd >= 0)
        shutdown(fd, SHUT_RDWR);
    pthread_join(r->thread, NULL);
    close(r->listen_fd);
}
