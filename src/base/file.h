/* The files that the operator's settings name: certificates, keys, lists of settings. */
#pragma once

#include "base/buf.h"
#include "base/check.h"

#include <sys/types.h>

/* Reads a whole file of at most bytes_most bytes into `ret`, an empty buffer, with one allocation:
 * the caller of a secret wipes `ret->capacity` bytes of it. Only a regular file is read, because
 * the end of a pipe or a device may never come. A file of a network mount that hangs still blocks.
 * ret_mode: its permissions, may be NULL. False: *ret_why is "PATH: why", free() it. */
MUST_CHECK bool file_read(const char *path, size_t bytes_most, struct buf *ret, mode_t *ret_mode,
                          char **ret_why);
