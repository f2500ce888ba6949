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

#define FORMATS (REQUEST_FORMAT_LAST + 1)

/* What an answer's status means and what to do about it. A text that depends on the request's
 * format stands at the format; the first one, of REQUEST_JSON, is for each format without one. */
struct status_text {
    int statuses[2]; /* the second one 0: there is only one */
    const char *what[FORMATS], *fix[FORMATS];
};

#define LONG_URL_FIX "Allow URLs of up to 16 KiB in the proxy and the server, or shorten the URL."

static const struct status_text status_texts[] = {
    {{400, 422},
     {"where 2xx means success"},
     {"Accept application/json with unknown fields, numbers with decimals and null in "
      "OfferGoalId.",
      [REQUEST_FORM] = "Accept application/x-www-form-urlencoded with unknown fields and numbers "
                       "with decimals.",
      [REQUEST_GET] = "Accept a GET with unknown parameters and numbers with decimals."}},
    {{401},
     {"it needs credentials: put them into the URL as user:password@"},
     {"Put the credentials in the URL, or accept callbacks by their signature."}},
    {{403},
     {"it rejects us: is a firewall or bot protection in front?"},
     {"Exempt the path, or our addresses, from the firewall or bot protection."}},
    {{404},
     {"nothing is at this path: is the URL right?"},
     {"Fix the path of the URL. For unknown users, answer 200."}},
    {{405},
     {"the path does not accept POST", [REQUEST_GET] = "the path does not accept GET"},
     {"Route POST to the path. Check for a missing slash at its end.",
      [REQUEST_GET] = "Route GET to the path. Check for a missing slash at its end."}},
    {{408},
     {"it says that the request took too long"},
     {"Read the request sooner, or lower the app's MaxConcurrency."}},
    {{411},
     {"it asks for a Content-Length"},
     {"Callbacks have a Content-Length: look for a proxy that removes it.",
      [REQUEST_GET] = "Accept a GET without a body, or set another RequestFormat of the app."}},
    {{413},
     {"it does not accept a body of this size", [REQUEST_GET] = "the request is too large"},
     {"Allow bodies of up to 32 KiB in the proxy.", [REQUEST_GET] = LONG_URL_FIX}},
    {{414}, {"it does not accept a URL of this length"}, {LONG_URL_FIX}},
    {{415},
     {"it does not accept application/json",
      [REQUEST_FORM] = "it does not accept application/x-www-form-urlencoded",
      [REQUEST_GET] = "it does not accept a request without a body"},
     {"Accept application/json, or set another RequestFormat of the app.",
      [REQUEST_FORM] = "Accept application/x-www-form-urlencoded, or set another RequestFormat of "
                       "the app.",
      [REQUEST_GET] = "Accept a GET without a body, or set another RequestFormat of the app."}},
    {{429},
     {"it has too many requests; it did not say how long to wait"},
     {"Send Retry-After, or lower the app's RatePerSecond or MaxConcurrency."}},
    {{502, 504},
     {"the proxy in front of the receiver did not reach it"},
     {"Start the server behind your proxy. During a deployment this is normal."}},
    {{503},
     {"the receiver is not available"},
     {"Start the server behind your proxy. During a deployment this is normal."}},
};

static const struct status_text *text_of_status(int status)
{
    static const struct status_text failed = {
        .what = {"the receiver failed"},
        .fix = {"Look for the attempt's webhook-id in your logs: your code failed."}};
    static const struct status_text other = {
        .what = {"where 2xx means success"},
        .fix = {"Answer 2xx once you have stored the callback."}};
    for (size_t i = 0; i < ARRAY_LEN(status_texts); i++) {
        const int *of = status_texts[i].statuses;
        if (status && (of[0] == status || of[1] == status))
            return &status_texts[i];
    }
    return status >= 500 ? &failed : &other;
}

static const char *text_for(const char *const texts[FORMATS], enum request_format format)
{
    ASSERT((unsigned)format < FORMATS);
    return texts[format] ? texts[format] : texts[REQUEST_JSON];
}

const char *attempt_status_text(int status, enum request_format format)
{
    return text_for(text_of_status(status)->what, format);
}

const char *attempt_fix(enum attempt_class c, int status, enum request_format format)
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
    case ATTEMPT_STATUS: return text_for(text_of_status(status)->fix, format);
    case ATTEMPT_GONE: return "For unknown users, answer 200. If the URL is gone, set another.";
    case ATTEMPT_UNEXPECTED_ANSWER:
        return "Look for the attempt's webhook-id in your logs, or correct the app's "
               "SuccessAnswer.";
    }
    UNREACHABLE();
}
