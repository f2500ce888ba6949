/* Opaque positions in lists: an event number, bound to its account so that one account's cursor
 * means nothing in another. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

void cursor_print(struct buf *to, uint32_t account_no, uint64_t event_no);
MUST_CHECK bool cursor_parse(struct str text, uint32_t account_no, uint64_t *ret_event_no);
