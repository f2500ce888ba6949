/* Assertions that stay on in production, and checked magic numbers.
 *
 * ASSERT is for programmer errors only: whatever input, network or disk can cause is an
 * operating error and returns. A failed assertion prints its place and aborts: the journal
 * makes a crash harmless, a wrong state committed is not. */
#pragma once

#include <stdint.h>
#include <stdnoreturn.h>

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

noreturn void check_failed(const char *file, int line, const char *what);

#define ASSERT(x) ((x) ? (void)0 : check_failed(__FILE__, __LINE__, #x))
#define UNREACHABLE() check_failed(__FILE__, __LINE__, "unreachable")

/* The struct must begin with `uint32_t magic`. */
#define CHECK_MAGIC(p, value) ASSERT((p) != NULL && (p)->magic == (value))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(p, type, member) ((type *)(void *)((char *)(p)-offsetof(type, member)))
