/* Classes of attempts: their names and what each says about the receiver. */
#include "domain/attempt.h"

const char *attempt_class_name(enum attempt_class c)
{
    static const char *const names[ATTEMPT_CLASSES] = {
        [ATTEMPT_OK] = "ok",
        [ATTEMPT_DNS] = "dns",
        [ATTEMPT_DESTINATION_REFUSED] = "destination_refused",
        [ATTEMPT_REFUSED] = "refused",
        [ATTEMPT_CONNECT_TIMEOUT] = "connect_timeout",
        [ATTEMPT_TLS] = "tls",
        [ATTEMPT_TIMEOUT] = "timeout",
        [ATTEMPT_RESET] = "reset",
        [ATTEMPT_PROTOCOL] = "protocol",
        [ATTEMPT_REDIRECT] = "redirect",
        [ATTEMPT_STATUS] = "status",
        [ATTEMPT_GONE] = "gone",
    };
    ASSERT((unsigned)c < ATTEMPT_CLASSES);
    return names[c];
}

bool attempt_counts_against_lane(enum attempt_class c, int status)
{
    switch (c) {
    /* No connection came about: whatever the reason, the next callback would fare the same. */
    case ATTEMPT_DNS:
    case ATTEMPT_DESTINATION_REFUSED:
    case ATTEMPT_REFUSED:
    case ATTEMPT_CONNECT_TIMEOUT:
    case ATTEMPT_TLS:
    case ATTEMPT_TIMEOUT:
    case ATTEMPT_RESET: return true;
    case ATTEMPT_STATUS: return status == 408 || status == 429 || (status >= 500 && status <= 599);
    /* An answer arrived, so the receiver lives; GONE disables the lane by its own rule. */
    case ATTEMPT_OK:
    case ATTEMPT_PROTOCOL:
    case ATTEMPT_REDIRECT:
    case ATTEMPT_GONE: return false;
    }
    UNREACHABLE();
}

enum attempt_class attempt_class_of_status(int status)
{
    if (status >= 200 && status <= 299)
        return ATTEMPT_OK;
    switch (status) {
    case 300:
    case 301:
    case 302:
    case 303:
    case 305:
    case 307:
    case 308: return ATTEMPT_REDIRECT;
    case 410: return ATTEMPT_GONE;
    default: break;
    }
    /* A 1xx is not final: whoever ends on one does not speak HTTP to us. */
    return status < 200 ? ATTEMPT_PROTOCOL : ATTEMPT_STATUS;
}
