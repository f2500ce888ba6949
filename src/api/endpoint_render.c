/* Prints the health of one endpoint: its state, what waits, recent results, and what to do. */
#include "api/endpoint_render.h"

#include "base/check.h"
#include "domain/gone_run.h"
#include "services/certificate_watch.h"

const char *endpoint_health_name(enum endpoint_health health)
{
    static const char *const names[ENDPOINT_HEALTHS] = {
        [ENDPOINT_DISABLED] = "disabled",
        [ENDPOINT_SUSPENDED] = "suspended",
        [ENDPOINT_HOST_DOWN] = "host_down",
        [ENDPOINT_PAUSED] = "paused",
        [ENDPOINT_FAILING] = "failing",
        [ENDPOINT_APP_DISABLED] = "app_disabled",
        [ENDPOINT_UNKNOWN] = "unknown",
        [ENDPOINT_OPEN] = "open",
        [ENDPOINT_NOT_CONFIGURED] = "not_configured",
    };
    ASSERT((unsigned)health < ENDPOINT_HEALTHS);
    return names[health];
}

enum endpoint_health endpoint_health_of(const struct app *app, enum lane_kind kind,
                                        const struct lane_brief *brief)
{
    if (!app->url[kind].p)
        return ENDPOINT_NOT_CONFIGURED;
    if (app->terms.lane_disabled[kind] || brief->disabled)
        return ENDPOINT_DISABLED;
    if (!app->enabled)
        return ENDPOINT_APP_DISABLED;
    if (brief->suspended)
        return brief->state == LANE_STATE_HOST_DOWN ? ENDPOINT_HOST_DOWN : ENDPOINT_SUSPENDED;
    if (brief->paused)
        return ENDPOINT_PAUSED;
    return brief->failed_1h > brief->succeeded_1h ? ENDPOINT_FAILING : ENDPOINT_OPEN;
}

static enum endpoint_health health_of(const struct endpoint_view *v)
{
    const struct lane_health *h = v->health;
    struct lane_brief brief = {
        .state = h->state,
        .suspended = h->suspended,
        .disabled = h->disabled,
        .paused = h->paused,
        .succeeded_1h = h->succeeded_1h,
        .failed_1h = h->failed_1h,
    };
    return endpoint_health_of(v->app, v->kind, &brief);
}

/* Since when it is in that state, if known: an idle lane is forgotten. */
static int64_t since_of(const char *state, const struct lane_health *h)
{
    return strcmp(state, lane_state_name(h->state)) == 0 ? h->state_since_ms : 0;
}

/* A rate from 0 to 1 with four digits; null: there was no attempt. */
static void key_rate(struct json_writer *w, const char *key, int64_t good, int64_t bad)
{
    json_key(w, key);
    if (good + bad == 0)
        json_null(w);
    else
        json_money(w, good * 10000 / (good + bad) * 100, 2);
}

/* Time to send what waits at the speed of the last minute; null: nothing was delivered in it. */
static void print_drain(struct json_writer *w, int64_t waiting, const struct lane_health *h)
{
    json_key(w, "DrainSeconds");
    if (waiting == 0)
        json_int(w, 0);
    else if (h->succeeded_1m == 0 || h->suspended)
        json_null(w);
    else
        json_int(w, (waiting * 60 + h->succeeded_1m - 1) / h->succeeded_1m);
}

static void print_last_error(struct json_writer *w, const struct endpoint_view *v)
{
    const struct lane_health *h = v->health;
    json_key(w, "LastError");
    if (!h->last_error_ms) {
        json_null(w);
        return;
    }
    json_object(w);
    json_key_time_or_null(w, "At", h->last_error_ms);
    json_key_c(w, "Class", attempt_class_name(h->last_class));
    json_key_int_or_null(w, "Status", h->last_status);
    json_key_c(w, "Detail", h->last_detail);
    json_key_c(w, "Fix", attempt_fix(h->last_class, h->last_status, h->last_format));
    json_end_object(w);
}

/* A warning for the partner about a coming problem; null: none. */
static void print_warning(struct json_writer *w, const struct endpoint_view *v)
{
    const struct app *app = v->app;
    int64_t now_ms = v->now_ms, expires_ms = v->health->certificate_expires_ms;
    struct buf text = {0};
    if (app->url[v->kind].p && (app->terms.lane_disabled[v->kind] || v->health->disabled))
        buf_printf(&text,
                   "This receiver answered 410 to " GONE_RUN_TEXT ", so its callbacks wait: %lld "
                   "now. Set the URL again (it may be the same) or enable the endpoint. Callbacks "
                   "whose last attempt was due before that are skipped. ",
                   (long long)v->waiting);
    if (certificate_expires_soon(expires_ms, now_ms)) {
        buf_add_c(&text, "The certificate of this receiver ");
        certificate_print_expiry(&text, expires_ms, now_ms);
        buf_add_c(&text, ".");
    }
    if (app->url[v->kind].p && app->parsed[v->kind].https && app->certificate.pem.p &&
        certificate_expires_soon(app->certificate.not_after_ms, now_ms)) {
        buf_add_c(&text, text.n ? " The app's ClientCertificate " : "The app's ClientCertificate ");
        certificate_print_expiry(&text, app->certificate.not_after_ms, now_ms);
        buf_add_c(&text, ".");
    }
    json_key_string(w, "Warning", text.n ? str_trim(buf_str(&text)) : STR_NONE);
    buf_free(&text);
}

void endpoint_render(struct json_writer *w, const struct endpoint_view *v)
{
    const struct app *app = v->app;
    const struct lane_health *h = v->health;
    enum lane_kind kind = v->kind;
    enum endpoint_health health = health_of(v);
    const char *state = endpoint_health_name(health == ENDPOINT_FAILING ? ENDPOINT_OPEN : health);
    json_object(w);
    json_key_c(w, "Endpoint", lane_kind_name(kind));
    json_key_url_masked(w, "Url", app->url[kind]);
    json_key_c(w, "State", state);
    json_key_c(w, "Health", endpoint_health_name(health));
    json_key_time_or_null(w, "Since", since_of(state, h));
    json_key_int(w, "Waiting", v->waiting);
    json_key_time_or_null(w, "OldestWaitingAt", v->oldest_waiting_ms);
    print_drain(w, v->waiting, h);
    json_key_int(w, "InFlight", h->in_flight);
    json_key_int(w, "WaitingInMemory", h->waiting_in_ram);
    json_key_int(w, "Window", (int64_t)h->window);
    json_key_time_or_null(w, "NextTryAt", h->next_try_ms);
    json_key_int(w, "Succeeded1h", h->succeeded_1h);
    json_key_int(w, "Failed1h", h->failed_1h);
    key_rate(w, "SuccessRate1h", h->succeeded_1h, h->failed_1h);
    json_key_int(w, "Succeeded24h", h->succeeded_24h);
    json_key_int(w, "Failed24h", h->failed_24h);
    key_rate(w, "SuccessRate24h", h->succeeded_24h, h->failed_24h);
    json_key_int(w, "LatencyP50Ms", h->latency_p50_ms);
    json_key_int(w, "LatencyP95Ms", h->latency_p95_ms);
    json_key_int(w, "LatencyP99Ms", h->latency_p99_ms);
    print_last_error(w, v);
    json_key_time_or_null(w, "CertificateExpiresAt", h->certificate_expires_ms);
    print_warning(w, v);
    json_end_object(w);
}
