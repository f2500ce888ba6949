/* Makes librdkafka's clients, and makes librdkafka's waits end by the monotonic clock.
 *
 * librdkafka's threads, and our calls into it that have a time-out, wait in the C library's
 * cnd_timedwait until a moment of the system's clock. When that clock is set back by an hour, each
 * of them sleeps an hour longer: rewards and dead letters are not written, and a stop does not
 * end. Therefore this file defines cnd_timedwait: the dynamic linker prefers the program's own
 * definition. Of the libraries that the program links, only librdkafka calls it. Every client is
 * made here, so that the linker takes this file into each program that uses librdkafka.
 *
 * glibc's cnd_t and mtx_t are its pthread_cond_t and pthread_mutex_t under another name; its own
 * cnd_timedwait is a call of pthread_cond_timedwait. */
#include "bus/bus_inside.h"

#include "base/arithmetic.h"

#include <errno.h>
#include <threads.h>
#include <time.h>

rd_kafka_t *kafka_client_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, char *why,
                             size_t why_bytes)
{
    return rd_kafka_new(type, conf, why, why_bytes);
}

/* ThreadSanitizer knows pthread_cond_clockwait but none of <threads.h>, and so takes the mutex for
 * an unlocked one. Its builds keep the C library's function. */
#if defined(__SANITIZE_THREAD__)
#define KEEP_CND_TIMEDWAIT
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define KEEP_CND_TIMEDWAIT
#endif
#endif

#ifndef KEEP_CND_TIMEDWAIT
_Static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t) && sizeof(mtx_t) == sizeof(pthread_mutex_t),
               "the C library's condition variables are those of POSIX");

/* Converts a deadline of the system's clock into one of the monotonic clock. */
static struct timespec monotonic_deadline(const struct timespec *until)
{
    int64_t until_ms = (int64_t)until->tv_sec * 1000 + (until->tv_nsec + 999999) / 1000000;
    int64_t left_ms = int64_max(0, until_ms - env_system_clock_ms());
    int64_t end_ms = env_mono_ms(env_real()) + left_ms;
    return (struct timespec){.tv_sec = end_ms / 1000, .tv_nsec = end_ms % 1000 * 1000000};
}

/* librdkafka computes a deadline once and waits for it again after each wake-up. The clock may be
 * set in between, so each thread remembers the monotonic end of the deadline that it waited for
 * last. */
__attribute__((visibility("default"))) int cnd_timedwait(cnd_t *restrict cond,
                                                         mtx_t *restrict mutex,
                                                         const struct timespec *restrict time_point)
{
    static _Thread_local struct timespec latest, end;
    if (latest.tv_sec != time_point->tv_sec || latest.tv_nsec != time_point->tv_nsec) {
        latest = *time_point;
        end = monotonic_deadline(time_point);
    }
    int error = pthread_cond_clockwait((pthread_cond_t *)cond, (pthread_mutex_t *)mutex,
                                       CLOCK_MONOTONIC, &end);
    return error == 0 ? thrd_success : error == ETIMEDOUT ? thrd_timedout : thrd_error;
}
#endif
