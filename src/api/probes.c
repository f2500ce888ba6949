/* GET /healthz (the process answers) and /readyz (the store is reachable and accepting). If books
 * do not balance, a restart does not help, and delivery must not stop: so both probes keep their
 * status, and Failures describes the mismatch. */
#include "api/internal.h"
#include "api/route.h"
#include "domain/gone_run.h"
#include "oidc/oidc.h"
#include "services/books_watch.h"
#include "services/certificate_watch.h"

#include <stdlib.h>

static void check(struct json_writer *w, const char *name, struct str detail)
{
    json_object(w);
    json_key_c(w, "Check", name);
    json_key_string(w, "Detail", detail);
    json_end_object(w);
}

#define REFUSAL_TOLD_MS MINUTE_MS
#define LOCAL_FAULT_TOLD_MS MINUTE_MS

/* --- warnings: what is not wrong yet, or only for a part of the requests -----------------------
 */

struct warnings {
    struct json_writer *w;
    struct call *c;
    const struct store_numbers *n;
    bool any; /* the array is open */
};

static PRINTF_LIKE(3, 4) void warn(struct warnings *to, const char *name, const char *format, ...)
{
    struct buf text = {0};
    va_list args;
    if (!to->any)
        json_key_array(to->w, "Warnings");
    to->any = true;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    check(to->w, name, buf_str(&text));
    buf_free(&text);
}

static void warn_certificate(struct warnings *to, const char *name, const char *whose,
                             int64_t expires_ms)
{
    struct buf expiry = {0};
    certificate_print_expiry(&expiry, expires_ms, call_now_ms(to->c));
    warn(to, name, "%s %s", whose, buf_c(&expiry));
    buf_free(&expiry);
}

static void warn_certificates(struct warnings *to)
{
    struct certificate_state s;
    certificate_watch_get(to->c->api->options.certificates, &s);
    if (certificate_expires_soon(s.listener_expires_ms, call_now_ms(to->c)))
        warn_certificate(to, "listener_certificate", "The listener's certificate",
                         s.listener_expires_ms);
    if (s.clients_expiring > 0) {
        struct buf whose = {0};
        buf_printf(&whose, "Apps whose ClientCertificate expires soon: %lld. The first",
                   (long long)s.clients_expiring);
        warn_certificate(to, "client_certificates", buf_c(&whose), s.clients_expires_ms);
        buf_free(&whose);
    }
}

static void warn_replica(struct warnings *to)
{
    if (to->n->replica == STORE_REPLICA_AWAY)
        warn(to, "read_replica",
             "The read replica does not answer, or is none of this store: reports and the log are "
             "read at the primary. The log says why.");
    else if (to->n->replica == STORE_REPLICA_BEHIND)
        warn(to, "read_replica",
             "The read replica is further behind than --read-replica-max-lag: reports and the log "
             "are read at the primary.");
}

static void warn_disabled(struct warnings *to)
{
    int64_t count = directory_count_disabled_endpoints(to->c->api->options.directory);
    if (count > 0)
        warn(to, "endpoints_disabled",
             "Callback endpoints that answered 410 to " GONE_RUN_TEXT " and are disabled: %lld. "
             "Their callbacks wait until their URLs are set again or they are enabled.",
             (long long)count);
}

static void warn_clock(struct warnings *to)
{
    int64_t ahead_ms = to->n->clock_ahead_ms;
    if (store_clock_is_apart(ahead_ms))
        warn(to, "clock",
             "This machine's clock is %lld s %s the database server's. Times of acceptance and of "
             "signatures are by the clock of the node that takes an event or sends a callback. "
             "Set the clock that is wrong; NTP keeps them right.",
             llabs(ahead_ms) / 1000, ahead_ms > 0 ? "ahead of" : "behind");
}

static void warn_clusters(struct warnings *to)
{
    if (to->n->clusters_away > 0)
        warn(to, "clusters",
             "Of %lld clusters %lld cannot be written: accounts of those are refused events and "
             "reports with 503, those of the others are not.",
             (long long)to->n->clusters, (long long)to->n->clusters_away);
}

static void warn_refusing(struct warnings *to)
{
    const struct store_numbers *n = to->n;
    struct buf refused = {0};
    bool is_recent =
        n->sqlstate[0] && n->statement_refused_ms >= 0 && n->statement_refused_ms < REFUSAL_TOLD_MS;
    if (n->outcomes_set_aside == 0 && !is_recent)
        return;
    if (n->sqlstate[0])
        buf_printf(&refused,
                   "The database refused a statement %lld s ago (SQLSTATE %s). What it refuses is "
                   "answered 503, or rejected; everything else goes on. The log says what it was "
                   "(statement_refused). ",
                   (long long)n->statement_refused_ms / 1000, n->sqlstate);
    warn(to, "database_refuses", "%s%lld outcomes of attempts are retried until they are recorded.",
         buf_c(&refused), (long long)n->outcomes_set_aside);
    buf_free(&refused);
}

static void warn_damaged(struct warnings *to)
{
    if (to->n->scrub_damaged > 0)
        warn(to, "store_damaged",
             "The store's files are damaged at %lld places, so %s. Look at the disk; the "
             "operators' page scrub.md says what to do.",
             (long long)to->n->scrub_damaged, to->n->scrub_example);
}

static void warn_providers(struct warnings *to)
{
    struct str name = STR_NONE;
    size_t down = oidc_count_down(to->c->api->options.oidc, &to->c->r->arena, &name);
    if (down > 0)
        warn(to, "identity_providers",
             "Identity providers that did not answer when they were asked last: %zu (%.*s). "
             "Nobody signs in by them until they do. Each is asked again at the first sign-in "
             "after %d s at most. The log says what went wrong (sign_in_refused).",
             down, STR_ARG(name), (int)(OIDC_PAUSE_LONGEST_MS / 1000));
}

/* LOCAL_FAULT_NONE: no recent one. */
static enum local_fault latest_local_fault(int64_t now_ms, const struct delivery_numbers *n)
{
    enum local_fault latest = LOCAL_FAULT_NONE;
    int64_t latest_ms = now_ms - LOCAL_FAULT_TOLD_MS;
    for (int f = LOCAL_FAULT_NONE + 1; f < LOCAL_FAULTS; f++) {
        if (n->local_fault_ms[f] <= latest_ms)
            continue;
        latest = (enum local_fault)f;
        latest_ms = n->local_fault_ms[f];
    }
    return latest;
}

static void warn_local_fault(struct warnings *to)
{
    struct delivery_numbers n;
    delivery_get_numbers(to->c->api->options.delivery, &n);
    enum local_fault fault = latest_local_fault(call_now_ms(to->c), &n);
    if (fault != LOCAL_FAULT_NONE)
        warn(to, "local_fault",
             "Callbacks cannot be sent because of a fault of this machine. %s They wait, and no "
             "endpoint is suspended for this. %s Attempts that were not made: %lld.",
             local_fault_text(fault), local_fault_fix(fault), (long long)n.local_faults[fault]);
}

static void print_warnings(struct json_writer *w, struct call *c, const struct store_numbers *n)
{
    static void (*const each[])(struct warnings * to) = {
        warn_certificates, warn_replica, warn_disabled,  warn_clusters,    warn_clock,
        warn_refusing,     warn_damaged, warn_providers, warn_local_fault,
    };
    struct warnings to = {.w = w, .c = c, .n = n};
    for (size_t i = 0; i < ARRAY_LEN(each); i++)
        each[i](&to);
    if (to.any)
        json_end_array(w);
}

/* --- the answers -------------------------------------------------------------------------------
 */

static void answer_probe(struct call *c, const char *good)
{
    struct books_state books;
    struct store_numbers n;
    books_watch_get(c->api->options.books, &books);
    store_get_numbers(c->api->options.store, &n);
    bool failing = books.wrong_days > 0 || !n.accepting;
    struct json_writer *w = call_begin_object(c);
    json_key_c(w, "Status", failing ? "failing" : good);
    if (failing) {
        json_key_array(w, "Failures");
        if (!n.accepting)
            check(w, "intake", str_of(store_refusal_text(n.refusal)));
        if (books.wrong_days > 0)
            check(w, "books", str_of(books.wrong_example));
        json_end_array(w);
    }
    print_warnings(w, c, &n);
    call_end_object(c, 200);
}

void probe_healthz(struct call *c)
{
    answer_probe(c, "ok");
}

void probe_readyz(struct call *c)
{
    struct store_numbers n;
    store_get_numbers(c->api->options.store, &n);
    if (!atomic_load(&c->api->accepting)) {
        call_answer_problem(c, 503,
                            "The server is starting or stopping and accepts no requests now.");
        return;
    }
    if (!n.accepting) {
        call_answer_problem(c, 503,
                            "The server is not ready (%s): %s %lld events are queued, %lld "
                            "callbacks wait, %lld MiB are free.",
                            store_refusal_name(n.refusal), store_refusal_text(n.refusal),
                            (long long)n.events_queued, (long long)n.callbacks_pending,
                            (long long)(n.disk_free_bytes >> 20));
        return;
    }
    answer_probe(c, "ready");
}
