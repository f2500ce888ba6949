/* DNS as far as a test needs it. */
#include "name_server.h"

/* The question's name as text; returns the length of the question section, 0: nonsense. */
static size_t name_server_question(const uint8_t *p, size_t n, char *ret_name, size_t room)
{
    size_t at = 12, out = 0;
    while (at < n && p[at] != 0) {
        size_t label = p[at++];
        if (at + label >= n || out + label + 2 > room)
            return 0;
        if (out > 0)
            ret_name[out++] = '.';
        memcpy(ret_name + out, p + at, label);
        out += label;
        at += label;
    }
    ret_name[out] = '\0';
    return at + 5 <= n ? at + 5 - 12 : 0;
}

static size_t name_server_records(uint8_t *to, const struct name_record *record, int type)
{
    size_t n = 0;
    for (int i = 0; i < 3 && record->addresses[i]; i++) {
        uint8_t address[16];
        int family = strchr(record->addresses[i], ':') ? AF_INET6 : AF_INET;
        if ((type == 28) != (family == AF_INET6))
            continue;
        ASSERT(inet_pton(family, record->addresses[i], address) == 1);
        uint8_t size = family == AF_INET ? 4 : 16;
        uint32_t ttl = htonl(record->ttl_s);
        uint8_t head[] = {0xc0, 12, 0, (uint8_t)type, 0, 1};
        memcpy(to + n, head, sizeof head);
        memcpy(to + n + 6, &ttl, 4);
        to[n + 10] = 0;
        to[n + 11] = size;
        memcpy(to + n + 12, address, size);
        n += 12u + size;
        to[-1]++; /* of the answer count, see below */
    }
    return n;
}

static void name_server_answer(struct name_server *s, uint8_t *p, size_t n,
                               const struct sockaddr_in *to)
{
    char name[256];
    uint8_t out[1024] = {0};
    size_t question = name_server_question(p, n, name, sizeof name);
    const struct name_record *record = s->records;
    if (question == 0)
        return;
    int type = p[12 + question - 3];
    if (type == 1)
        atomic_fetch_add(&s->questions, 1);
    while (record->name && strcmp(record->name, name) != 0)
        record++;
    if (record->name && record->rcode < 0)
        return;
    memcpy(out, p, 12 + question);
    out[2] = 0x81;
    out[3] = (uint8_t)(0x80 | (record->name ? record->rcode : 3));
    memset(out + 6, 0, 6);
    size_t end = 12 + question;
    if (record->name && record->rcode == 0) {
        /* Records are made one byte on, so that the count can be kept in front of them. */
        uint8_t made[256] = {0};
        size_t size = name_server_records(made + 1, record, type);
        memcpy(out + end, made + 1, size);
        out[7] = made[0];
        end += size;
    }
    (void)!sendto(s->fd, out, end, 0, (const struct sockaddr *)to, sizeof *to);
}

static void *name_server_run(void *arg)
{
    struct name_server *s = arg;
    uint8_t question[512];
    for (;;) {
        struct sockaddr_in from;
        socklen_t from_n = sizeof from;
        ssize_t n =
            recvfrom(s->fd, question, sizeof question, 0, (struct sockaddr *)&from, &from_n);
        if (n < 12)
            return NULL; /* shut down */
        name_server_answer(s, question, (size_t)n, &from);
    }
}

void name_server_start(struct name_server *s, const struct name_record *records)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    at.sin_port = htons(s->port);
    s->records = records;
    s->fd = socket(AF_INET, SOCK_DGRAM, 0);
    ASSERT(s->fd >= 0 && bind(s->fd, (struct sockaddr *)&at, n) == 0);
    ASSERT(getsockname(s->fd, (struct sockaddr *)&at, &n) == 0);
    s->port = ntohs(at.sin_port);
    snprintf(s->where, sizeof s->where, "127.0.0.1:%u", ntohs(at.sin_port));
    ASSERT(pthread_create(&s->thread, NULL, name_server_run, s) == 0);
}

void name_server_stop(struct name_server *s)
{
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
}
