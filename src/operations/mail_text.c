/* Prints every message as a mail: a line with the subject, then the text. The webhook's JSON:
 * notice.c. */
#include "operations/notice.h"

#include "base/plain_text.h"
#include "domain/clock.h"
#include "domain/gone_run.h"
#include "mail/mail_line.h"

static const char *url_name(enum lane_kind kind)
{
    static const char *const names[LANE_KINDS] = {
        [LANE_SUCCESS] = "Success Callback URL",
        [LANE_FAILURE] = "Failure Callback URL",
        [LANE_OFFER] = "Offer Callback URL",
        [LANE_TEST] = "Test Callback URL",
    };
    ASSERT(kind > LANE_NONE && kind < LANE_KINDS);
    return names[kind];
}

static const char *says(const struct notice *n)
{
    switch (n->is) {
    case OPERATIONS_SUSPENDED: return "is down";
    case OPERATIONS_DISABLED: return "is disabled";
    case OPERATIONS_EXPIRING: return "has a certificate that expires soon";
    case OPERATIONS_BOOKS_WRONG:
    case OPERATIONS_STATEMENT_READY: break;
    case OPERATIONS_WELL:
        return topic_of(n->topic)->has_certificate ? "has a new certificate" : "works again";
    }
    UNREACHABLE();
}

static const char *means(const struct notice *n)
{
    switch (n->is) {
    case OPERATIONS_SUSPENDED:
        return "No callback is lost: they wait, and one at a time is tried until your server "
               "answers "
               "2xx.";
    case OPERATIONS_DISABLED:
        return "It answered 410 (Gone) to " GONE_RUN_TEXT ". Callbacks wait until the URL is "
               "enabled or set again.";
    case OPERATIONS_EXPIRING: return "After that day, callbacks to it fail.";
    case OPERATIONS_BOOKS_WRONG:
    case OPERATIONS_STATEMENT_READY: break;
    case OPERATIONS_WELL:
        return topic_of(n->topic)->has_certificate ? "There is nothing to do."
                                                   : "Waiting callbacks are being sent.";
    }
    UNREACHABLE();
}

static void print_time(struct buf *to, const char *name, int64_t ms)
{
    if (!ms)
        return;
    buf_printf(to, "%s: ", name);
    clock_print(to, ms);
    buf_add_char(to, '\n');
}

static void print_endpoint(struct buf *to, const struct notice *n, const struct app *app)
{
    bool has_health = topic_of(n->topic)->has_health;
    struct buf room = {0};
    struct str url = url_masked(app->url[n->kind], &room);
    mail_print_named(to, "App", app->name, app->id);
    buf_printf(to, "URL: %.*s\n", STR_ARG(url));
    buf_free(&room);
    if (has_health) {
        print_time(to, "Since", n->since_ms);
        buf_printf(to, "Callbacks waiting: %lld\n", (long long)n->waiting.count[n->kind]);
    } else {
        print_time(to, "Certificate expires", n->expires_ms);
    }
    if (has_health && n->error_ms && n->is != OPERATIONS_WELL) {
        buf_printf(to, "Last error: %s: ", attempt_class_name(n->class));
        plain_text_print(to, str_of(n->detail));
        buf_printf(to, "\nFix: %s\n", notice_fix(n, app));
    }
}

static void print_books(struct buf *to, const struct notice *n)
{
    bool good = n->is == OPERATIONS_WELL;
    buf_printf(to, "%s\n%s\n", good ? "All books balance again" : "Books do not balance",
               good ? "There is nothing to do." : n->detail);
    print_time(to, "Since", n->since_ms);
}

static void print_listener(struct buf *to, const struct notice *n)
{
    bool good = n->is == OPERATIONS_WELL;
    buf_printf(to, "%s\n%s\n\n",
               good ? "The server has a new certificate" : "The server's certificate expires soon",
               good ? "There is nothing to do."
                    : "After that day, neither events nor people reach this server. Renew the "
                      "certificate, then reload the server.");
    if (n->node[0])
        buf_printf(to, "Node: %s\n", n->node);
    print_time(to, "Certificate expires", n->expires_ms);
}

static void print_client_certificate(struct buf *to, const struct notice *n, const struct app *app)
{
    bool good = n->is == OPERATIONS_WELL;
    buf_printf(to, "%.*s: the client certificate %s\n", STR_ARG(app->id),
               !good           ? "expires soon"
               : n->expires_ms ? "was renewed"
                               : "was removed");
    if (good)
        buf_add_c(to, "There is nothing to do.\n\n");
    else
        buf_printf(to,
                   "The app %.*s shows this certificate to servers that ask for one. After that "
                   "day, they refuse its callbacks, which then wait. Set a new ClientCertificate "
                   "of the app.\n\n",
                   STR_ARG(app->id));
    mail_print_named(to, "App", app->name, app->id);
    print_time(to, "Certificate expires", n->expires_ms);
}

static void print_statement(struct buf *to, const struct notice *n, const struct partner *partner)
{
    struct buf month = {0};
    notice_print_month(&month, n);
    buf_printf(to,
               "The statement of %s is ready\nEach day of %s is final: no late event is taken any "
               "more, and no callback waits.\n\n",
               buf_c(&month), buf_c(&month));
    mail_print_named(to, "Account", partner->name, partner->id);
    buf_free(&month);
}

void mail_text_print(struct buf *to, const struct notice *n, const struct partner *partner,
                     const struct app *app, struct str public_url)
{
    switch (topic_of(n->topic)->subject) {
    case SUBJECT_BOOKS: print_books(to, n); break;
    case SUBJECT_LISTENER: print_listener(to, n); break;
    case SUBJECT_APP: print_client_certificate(to, n, app); break;
    case SUBJECT_ACCOUNT: print_statement(to, n, partner); break;
    case SUBJECT_ENDPOINT:
        buf_printf(to, "%.*s: the %s %s\n", STR_ARG(app->id), url_name(n->kind), says(n));
        buf_printf(to, "The %s of the app %.*s %s. %s\n\n", url_name(n->kind), STR_ARG(app->id),
                   says(n), means(n));
        print_endpoint(to, n, app);
    }
    if (public_url.p)
        buf_printf(to, "\nDashboard: %.*s\n", STR_ARG(public_url));
}
