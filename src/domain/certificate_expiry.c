/* When a certificate's end is near enough to warn of it, and the warning. */
#include "domain/certificate_expiry.h"

#include "base/limits.h"
#include "domain/clock.h"

bool certificate_expires_soon(int64_t expires_ms, int64_t now_ms)
{
    return expires_ms != 0 && expires_ms - now_ms <= LIMIT_CERTIFICATE_WARNING_MS;
}

void certificate_print_expiry(struct buf *to, int64_t expires_ms, int64_t now_ms)
{
    struct buf at = {0};
    clock_print(&at, expires_ms);
    const char *day = buf_c(&at);
    int64_t days = (expires_ms - now_ms) / DAY_MS;
    if (expires_ms <= now_ms)
        buf_printf(to, "has expired on %.10s", day);
    else if (days < 1)
        buf_printf(to, "expires within a day (%.10s): renew it", day);
    else
        buf_printf(to, "expires in %lld day%s (%.10s): renew it", (long long)days,
                   days == 1 ? "" : "s", day);
    buf_free(&at);
}
