/* Checks our own certificates for expiry: the listener's, and the client certificates of apps. If
 * LIMIT_CERTIFICATE_WARNING_MS or less is left, it says so in the log once a day, in metrics and in
 * /healthz. Receivers' certificates: delivery/dispatcher_health.c. */
#pragma once

#include "accounts/directory.h"
#include "base/env.h"
#include "domain/certificate_expiry.h"

struct certificate_watch;

/* certificate_watch_step calls both at each look, even if nothing has changed: a change may come
 * while another node sends its message about an earlier state. */
struct certificate_callbacks {
    void (*on_listener)(void *context, int64_t expires_ms, bool soon);
    /* An app's certificate; expires_ms 0: it has none. False: another node reports the app. A
     * certificate that does not expire soon is reported if it did at the last look, and once an
     * hour. */
    bool (*on_client)(void *context, const struct app *app, int64_t expires_ms, bool soon);
    void *context;
};

struct certificate_watch *certificate_watch_new(struct env *env, struct directory *directory);
void certificate_watch_free(struct certificate_watch *watch);
/* 0: there is none. Call it at the start and after a reload; any thread. */
void certificate_watch_set_listener(struct certificate_watch *watch, int64_t expires_ms);
void certificate_watch_set_callbacks(struct certificate_watch *watch,
                                     const struct certificate_callbacks *callbacks);
/* Call it often on the main thread: it checks when it is time. */
void certificate_watch_step(struct certificate_watch *watch);

struct certificate_state {
    int64_t listener_expires_ms; /* 0: there is none */
    int64_t clients_expires_ms;  /* the earliest expiry of the apps' */
    int64_t clients_expiring;    /* number that expire soon */
};
void certificate_watch_get(struct certificate_watch *watch,
                           struct certificate_state *ret); /* any thread */
