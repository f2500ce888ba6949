/* GET /healthz (the process answers) and /readyz (the store is reachable and accepting).
 *
 * Books that do not balance are a failure that restarting does not mend and that must not stop
 * delivery: both probes keep their status for them and say in Failures what is wrong. */
#include "api/internal.h"
#include "api/route.h"
#include "oidc/oidc.h"
#include "services/books_watch.h"
#include "services/certificate_watch.h"

static void check(struct json_writer *w, const char *name, struct str detail)
{
    json_object(w);
    json_key_c(w, "Check", name);
    json_key_string(w, "Detail", detail);
    json_end_object(w);
}

#define REFUSAL_TOLD_MS 60000
#define LOCAL_FAULT_TOLD_MS 60000

static bool is_refusing(const struct store_numbers *n)
{
    return n->outcomes_set_aside > 0 || (n->sqlstate[0] && n->statement_refused_ms >= 0 &&
                                         n->statement_refused_ms < REFUSAL_TOLD_MS);
}

static void warn_refusing(struct json_writer *w, const struct store_numbers *n)
{
    struct buf text = {0};
    if (n->sqlstate[0])
        buf_printf(&text,
                   "The database refused a statement %lld s ago (SQLSTATE %s). What it refuses is "
                   "answered 503, or rejected; everything else goes on. The log says what it was "
                   "(statement_refused). ",
                   (long long)n->statement_refused_ms / 1000, n->sqlstate);
    buf_printf(&text, "%lld outcomes of attempts are retried until they are recorded.",
               (long long)n->outcomes_set_aside);
    check(w, "database_refuses", buf_str(&text));
    buf_free(&text);
}

static void warn_damaged(struct json_writer *w, const struct store_numbers *n)
{
    struct buf text = {0};
    buf_printf(&text,
               "The store's files are damaged at %lld places, so %s. Look at the disk; the "
               "operators' page scrub.md says what to do.",
               (long long)n->scrub_damaged, n->scrub_example);
    check(w, "store_damaged", buf_str(&text));
    buf_free(&text);
}

static void warn_providers(struct json_writer *w, size_t down, struct str name)
{
    struct buf text = {0};
    buf_printf(&text,
               "Identity providers that did not answer when they were asked last: %zu (%.*s). "
               "Nobody signs in by them until they do. Each is asked again at the first sign-in "
               "after %d s at most. The log says what went wrong (sign_in_refused).",
               down, STR_ARG(name), OIDC_PAUSE_LONGEST_MS / 1000);
    check(w, "identity_providers", buf_str(&text));
    buf_free(&text);
}

/* 0: none of late. */
static enum local_fault latest_local_fault(struct call *c, struct delivery_numbers *ret)
{
    enum local_fault latest = LOCAL_FAULT_NONE;
    delivery_get_numbers(c->api->options.delivery, ret);
    int64_t latest_ms = call_now_ms(c) - LOCAL_FAULT_TOLD_MS;
    for (int f = LOCAL_FAULT_NONE + 1; f < LOCAL_FAULTS; f++) {
        if (ret->local_fault_ms[f] <= latest_ms)
            continue;
        latest = (enum local_fault)f;
        latest_ms = ret->local_fault_ms[f];
    }
    return latest;
}

static void warn_local_fault(struct json_writer *w, enum local_fault fault,
                             const struct delivery_numbers *n)
{
    struct buf text = {0};
    buf_printf(&text,
               "Callbacks cannot be sent because of a fault of this machine. %s They wait, and no "
               "endpoint is suspended for this. %s Attempts that were not made: %lld.",
               local_fault_text(fault), local_fault_fix(fault), (long long)n->local_faults[fault]);
    check(w, "local_fault", buf_str(&text));
    buf_free(&text);
}

/* What is not wrong yet, but will be in days; and what is wrong for a part of the requests. */
static void warn(struct json_writer *w, struct call *c, const struct store_numbers *n)
{
    struct certificate_state s;
    int64_t now_ms = call_now_ms(c);
    struct buf text = {0};
    certificate_watch_get(c->api->options.certificates, &s);
    bool listener = certificate_expires_soon(s.listener_expires_ms, now_ms);
    bool clusters = n->clusters_away > 0;
    int64_t disabled = directory_count_disabled_endpoints(c->api->options.directory);
    struct str provider = STR_NONE;
    size_t providers = oidc_count_down(c->api->options.oidc, &c->r->arena, &provider);
    struct delivery_numbers delivery;
    enum local_fault fault = latest_local_fault(c, &delivery);
    bool replica = n->replica == STORE_REPLICA_AWAY || n->replica == STORE_REPLICA_BEHIND;
    if (!listener && s.clients_expiring == 0 && !replica && !clusters && disabled == 0 &&
        !is_refusing(n) && n->scrub_damaged == 0 && providers == 0 && !fault)
        return;
    json_key_array(w, "Warnings");
    if (listener) {
        buf_add_c(&text, "The listener's certificate ");
        certificate_print_expiry(&text, s.listener_expires_ms, now_ms);
        check(w, "listener_certificate", buf_str(&text));
    }
    if (s.clients_expiring > 0) {
        buf_clear(&text);
        buf_printf(&text, "Apps whose ClientCertificate expires soon: %lld. The first ",
                   (long long)s.clients_expiring);
        certificate_print_expiry(&text, s.clients_expires_ms, now_ms);
        check(w, "client_certificates", buf_str(&text));
    }
    if (replica)
        check(w, "read_replica",
              n->replica == STORE_REPLICA_AWAY
                  ? STR("The read replica does not answer, or is none of this store: reports and "
                        "the log are read at the primary. The log says why.")
                  : STR("The read replica is further behind than --read-replica-max-lag: reports "
                        "and the log are read at the primary."));
    if (disabled > 0) {
        buf_clear(&text);
        buf_printf(&text,
                   "Callback endpoints that answered 410 to five callbacks in a row and are "
                   "disabled: %lld. Their callbacks wait until their URLs are set again or they "
                   "are enabled.",
                   (long long)disabled);
        check(w, "endpoints_disabled", buf_str(&text));
    }
    if (clusters) {
        buf_clear(&text);
        buf_printf(&text,
                   "Of %lld clusters %lld cannot be written: accounts of those are refused events "
                   "and reports with 503, those of the others are not.",
                   (long long)n->clusters, (long long)n->clusters_away);
        check(w, "clusters", buf_str(&text));
    }
    if (is_refusing(n))
        warn_refusing(w, n);
    if (n->scrub_damaged > 0)
        warn_damaged(w, n);
    if (providers > 0)
        warn_providers(w, providers, provider);
    if (fault)
        warn_local_fault(w, fault, &delivery);
    json_end_array(w);
    buf_free(&text);
}

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
    warn(w, c, &n);
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
