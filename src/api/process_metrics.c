/* proc(5): /proc/self/stat, statm and fd, uptime; getrusage(2), getrlimit(2). The names and their
 * meanings are those of
 * https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics. */
#include "api/process_metrics.h"

#include "api/metric.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void print_gauge(struct buf *to, const char *name, const char *help, int64_t value)
{
    metric_print(to, &(struct metric){name, "gauge", help, value});
}

static bool read_small(const char *path, char *ret, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, ret, size - 1);
    close(fd);
    if (n <= 0)
        return false;
    ret[n] = '\0';
    return true;
}

static void print_cpu(struct buf *to)
{
    struct rusage used;
    if (getrusage(RUSAGE_SELF, &used) != 0)
        return;
    int64_t used_ms = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
                      (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
    metric_print_milli(to, &(struct metric){"process_cpu_seconds_total", "counter",
                                            "Processor time used, of the user and of the system.",
                                            used_ms});
}

static void print_memory(struct buf *to)
{
    char text[128];
    char *rest;
    if (!read_small("/proc/self/statm", text, sizeof text))
        return;
    long long page = sysconf(_SC_PAGESIZE), virtual = strtoll(text, &rest, 10);
    print_gauge(to, "process_virtual_memory_bytes", "Virtual memory.", virtual * page);
    print_gauge(to, "process_resident_memory_bytes", "Resident memory.",
                strtoll(rest, NULL, 10) * page);
}

/* Linux 6.2 and later report it as the directory's size; before, the entries are counted. */
static int64_t count_descriptors(void)
{
    struct stat st;
    if (stat("/proc/self/fd", &st) == 0 && st.st_size > 0)
        return st.st_size;
    DIR *all = opendir("/proc/self/fd");
    if (!all)
        return -1;
    int64_t count = -1; /* without the descriptor used for counting */
    for (const struct dirent *e = readdir(all); e; e = readdir(all))
        count += e->d_name[0] != '.';
    closedir(all);
    return count;
}

static void print_descriptors(struct buf *to)
{
    struct rlimit limit;
    int64_t open_now = count_descriptors();
    if (open_now >= 0)
        print_gauge(to, "process_open_fds", "Open file descriptors.", open_now);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        print_gauge(to, "process_max_fds", "As many as may be open.", (int64_t)limit.rlim_cur);
}

/* The system gives the process's start relative to its boot, and the time since boot. Fields are
 * counted from the end of the name (field 2), which may contain anything: 20 is the number of
 * threads, 22 the start. */
static void print_start(struct buf *to, int64_t now_ms)
{
    char text[1024], uptime[64];
    if (!read_small("/proc/self/stat", text, sizeof text) ||
        !read_small("/proc/uptime", uptime, sizeof uptime))
        return;
    const char *at = strrchr(text, ')');
    long long threads = 0;
    for (int field = 2; at && field < 22; at = strchr(at + 1, ' '), field++)
        if (field == 20)
            threads = strtoll(at, NULL, 10);
    if (!at)
        return;
    print_gauge(to, "process_threads", "Threads.", threads);
    char *rest; /* "123.45 ...": two digits */
    int64_t up_ms = strtoll(uptime, &rest, 10) * 1000;
    up_ms += *rest == '.' ? strtoll(rest + 1, NULL, 10) * 10 : 0;
    int64_t began_ms = strtoll(at, NULL, 10) * 1000 / sysconf(_SC_CLK_TCK);
    metric_print_milli(to, &(struct metric){"process_start_time_seconds", "gauge",
                                            "When the process began, since 1970.",
                                            now_ms - up_ms + began_ms});
}

void process_metrics_print(struct buf *to, const char *version, int64_t now_ms)
{
    print_cpu(to);
    print_memory(to);
    print_descriptors(to);
    print_start(to, now_ms);
    metric_head(to, "postbackd_build_info", "gauge",
                "1, with the version and the compiler of this build.");
    buf_printf(to, "postbackd_build_info{version=\"%s\",compiler=\"%s\"} 1\n", version,
#ifdef __clang__
               "clang " __clang_version__
#else
               "gcc " __VERSION__
#endif
    );
}
