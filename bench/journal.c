/*
 * bench_journal [DIRECTORY [GROUPS]]: what a commit costs. Groups of 256 events as records through
 * journal_commit, and beside it, group by group in the same run, the same bytes appended to a
 * pre-written file with O_DIRECT and one fdatasync: nothing durable can be faster on that disk.
 */
#include "store/journal/journal.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "store/journal/frame.h"
#include "store/journal/record.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define GROUP_EVENTS 256
#define BARE_FILE_BYTES (64u << 20)

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void add_group(struct buf *to, uint64_t first)
{
    static const char body[] =
        "{\"Sig\":\"00000000000000000000000000000000\",\"PanelistId\":\"panelist-0001\","
        "\"RewardType\":\"survey_completed\",\"RewardId\":\"0123456789ABCDEFGHJKMNPQRS\","
        "\"Reward\":72.00,\"SessionId\":\"session-000000000001\",\"RevenueAmount\":0.35,"
        "\"IsTest\":false}";
    struct event e = {
        .account_no = 1,
        .app_no = 1,
        .client_no = 1,
        .type = EVENT_SURVEY_COMPLETED,
        .lane = LANE_SUCCESS,
        .reward_decimals = 2,
        .event_id = STR("0123456789ABCDEFGHJKMNPQRS"),
        .panelist_id = STR("panelist-0001"),
        .session_id = STR("session-000000000001"),
        .body = {body, sizeof body - 1},
        .state = CALLBACK_PENDING,
    };
    buf_clear(to);
    for (unsigned i = 0; i < GROUP_EVENTS; i++) {
        e.event_no = first + i;
        record_add_event(to, &e);
    }
}

static bool no_groups(void *context, struct str records, struct journal_position end)
{
    (void)context;
    (void)records;
    (void)end;
    return false;
}

static int open_bare(const char *directory, char *buffer)
{
    char path[512];
    snprintf(path, sizeof path, "%s/bare", directory);
    int fd = open(path, O_RDWR | O_CREAT | O_DIRECT, 0600);
    if (fd < 0)
        fd = open(path, O_RDWR | O_CREAT, 0600);
    memset(buffer, 0, 1 << 20);
    for (off_t at = 0; fd >= 0 && at < (off_t)BARE_FILE_BYTES; at += 1 << 20)
        if (pwrite(fd, buffer, 1 << 20, at) != 1 << 20)
            return -1;
    if (fd >= 0)
        fdatasync(fd);
    unlink(path);
    return fd;
}

struct times {
    int64_t *ns;
    size_t count;
    int64_t total_ns, cpu_ns;
};

static void add_time(struct times *t, int64_t wall, int64_t cpu)
{
    t->ns[t->count++] = wall;
    t->total_ns += wall;
    t->cpu_ns += cpu;
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void print_times(const char *name, struct times *t)
{
    qsort(t->ns, t->count, sizeof *t->ns, compare_times);
    int64_t events = (int64_t)t->count * GROUP_EVENTS;
    printf("%-9s %9lld events/s  commit us p50 %lld p99 %lld max %lld  cpu ns/event %lld\n", name,
           (long long)(events * 1000000000 / t->total_ns), (long long)(t->ns[t->count / 2] / 1000),
           (long long)(t->ns[t->count * 99 / 100] / 1000), (long long)(t->ns[t->count - 1] / 1000),
           (long long)(t->cpu_ns / events));
}

int main(int argc, char **argv)
{
    char made[] = "/tmp/postbackd-bench-XXXXXX";
    const char *directory = argc > 1 ? argv[1] : mkdtemp(made);
    size_t groups = argc > 2 ? strtoul(argv[2], NULL, 10) : 4000;
    char inner[512];
    snprintf(inner, sizeof inner, "%s/journal", directory);
    struct journal_options o = {.disk = disk_real(),
                                .id = 7,
                                .directory = inner,
                                .segment_bytes = LIMIT_JOURNAL_SEGMENT_BYTES};
    char *why = NULL;
    struct journal *j = journal_open(&o, (struct journal_position){0}, no_groups, NULL, &why);
    char *buffer = aligned_alloc(4096, 1 << 20);
    int bare = buffer ? open_bare(directory, buffer) : -1;
    if (!j || bare < 0 || groups == 0) {
        printf("cannot begin: %s\n", why ? why : "the bare file cannot be written");
        return 1;
    }
    struct times journal = {.ns = xcalloc(groups, sizeof(int64_t))};
    struct times plain = {.ns = xcalloc(groups, sizeof(int64_t))};
    struct buf group = {0};
    off_t at = 0;
    for (size_t i = 0; i < groups; i++) {
        struct journal_position end;
        int64_t wall = now_ns(), cpu = cpu_ns();
        add_group(&group, 1 + i * GROUP_EVENTS);
        if (!journal_commit(j, buf_str(&group), &end)) {
            printf("%s\n", journal_error(j));
            return 1;
        }
        add_time(&journal, now_ns() - wall, cpu_ns() - cpu);
        journal_release(j, end);

        size_t n = frame_bytes(group.n);
        if (at + (off_t)n > (off_t)BARE_FILE_BYTES)
            at = 0;
        memcpy(buffer, group.p, group.n);
        wall = now_ns();
        cpu = cpu_ns();
        if (pwrite(bare, buffer, n, at) != (ssize_t)n || fdatasync(bare) != 0)
            return 1;
        add_time(&plain, now_ns() - wall, cpu_ns() - cpu);
        at += (off_t)n;
    }
    printf("%zu groups of %d events, %zu bytes each\n", groups, GROUP_EVENTS, group.n);
    print_times("journal", &journal);
    print_times("bare", &plain);
    journal_close(j);
    close(bare);
    free(journal.ns);
    free(plain.ns);
    free(buffer);
    buf_free(&group);
    if (argc < 2) {
        char command[600];
        snprintf(command, sizeof command, "rm -r '%s'", made);
        return system(command) != 0;
    }
    return 0;
}
