/* Classes of attempts: their names and what each means for the receiver. */
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
        [ATTEMPT_UNEXPECTED_ANSWER] = "unexpected_answer",
    };
    ASSERT((unsigned)c < ATTEMPT_CLASSES);
    return names[c];
}

bool attempt_counts_against_lane(enum attempt_class c, int status)
{
    switch (c) {
    /* there was no connection, and the next callback would get none either */
    case ATTEMPT_DNS:
    case ATTEMPT_DESTINATION_REFUSED:
    case ATTEMPT_REFUSED:
    case ATTEMPT_CONNECT_TIMEOUT:
    case ATTEMPT_TLS:
    case ATTEMPT_TIMEOUT:
    case ATTEMPT_RESET:
    /* the receiver reports a failure of its own, as with a 5xx */
    case ATTEMPT_UNEXPECTED_ANSWER: return true;
    case ATTEMPT_STATUS: return status == 408 || status == 429 || (status >= 500 && status <= 599);
    /* an answer arrived, so the receiver works; GONE disables the lane by a rule of its own */
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
    /* a 1xx is not final, so an answer that ends with one is not valid HTTP */
    return status < 200 ? ATTEMPT_PROTOCOL : ATTEMPT_STATUS;
}

static const char *status_fix(int status)
{
    switch (status) {
    case 400:
    case 415:
    case 422:
        return "Accept application/json with unknown fields, numbers with decimals and null in "
               "OfferGoalId.";
    case 401: return "Put the credentials in the URL, or accept callbacks by their signature.";
    case 403: return "Exempt the path, or our addresses, from the firewall or bot protection.";
    case 404: return "Fix the path of the URL. For unknown users, answer 200.";
    case 405: return "Route POST to the path. Check for a missing slash at its end.";
    case 408: return "Read the request sooner, or lower the app's MaxConcurrency.";
    case 429: return "Send Retry-After, or lower the app's RatePerSecond or MaxConcurrency.";
    case 411:
    case 413: return "Allow bodies of up to 32 KiB in the proxy.";
    case 502:
    case 503:
    case 504: return "Start the server behind your proxy. During a deployment this is normal.";
    default: break;
    }
    if (status >= 500)
        return "Look for the attempt's webhook-id in your logs: your code failed.";
    return "Answer 2xx once you have stored the callback.";
}

const char *attempt_fix(enum attempt_class c, int status)
{
    switch (c) {
    case ATTEMPT_OK: return "";
    case ATTEMPT_DNS: return "Check the name's spelling, and that it resolves from outside.";
    case ATTEMPT_DESTINATION_REFUSED: return "Use a name with a public address.";
    case ATTEMPT_REFUSED: return "Start the server, fix the port, or allow our addresses.";
    case ATTEMPT_CONNECT_TIMEOUT:
        return "Check for a firewall that drops packets, a wrong address, or a host that is down.";
    case ATTEMPT_TLS: return "Send a valid certificate for this name with its full chain.";
    case ATTEMPT_TIMEOUT:
        return "Answer first and process later, or raise the app's TimeoutSeconds.";
    case ATTEMPT_RESET: return "Look for a crashed worker or a proxy's own time limit.";
    case ATTEMPT_PROTOCOL: return "Point the URL at a port that speaks HTTP; check the scheme.";
    case ATTEMPT_REDIRECT: return "Set the URL to the Location that you redirect to.";
    case ATTEMPT_STATUS: return status_fix(status);
    case ATTEMPT_GONE: return "For unknown users, answer 200. If the URL is gone, set another.";
    case ATTEMPT_UNEXPECTED_ANSWER:
        return "Look for the attempt's webhook-id in your logs, or correct the app's "
               "SuccessAnswer.";
    }
    UNREACHABLE();
}
