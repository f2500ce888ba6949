/* When a certificate's end is near enough to warn of it, and the warning. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether LIMIT_CERTIFICATE_WARNING_MS or less is left. `expires_ms` 0: there is no certificate. */
bool certificate_expires_soon(int64_t expires_ms, int64_t now_ms);
/* "expires in 6 days (2026-11-27): renew it", "has expired on ...". */
void certificate_print_expiry(struct buf *to, int64_t expires_ms, int64_t now_ms);
