/* Sign-in by identity providers (OpenID Connect Core, the code flow): finds the URL at which a
 * provider signs people in, and exchanges the code that it returns for the person's identity. Each
 * provider has a thread of its own, so that a slow one delays only its own people. */
#pragma once

#include "accounts/directory.h"
#include "base/executor.h"
#include "domain/destination_rules.h"
#include "oidc/fetch.h"
#include "oidc/id_token.h"

struct env;

struct oidc_options {
    struct env *env;
    const char *proxy; /* must outlive it */
};

struct oidc;
struct oidc_client; /* a provider and its state; reference-counted */

struct oidc *oidc_new(const struct oidc_options *options);
/* Takes over the providers, at the start and at SIGHUP; the former ones are freed with their last
 * reference. ca_file NULL: the system's. */
void oidc_set(struct oidc *o, struct providers *providers, const char *ca_file,
              const struct destination_rules *rules);
void oidc_abort(struct oidc *o); /* requests under way end soon, with `good` false */
void oidc_free(struct oidc *o);  /* NULL: nothing; there must be no reference */

/* --- any thread ------------------------------------------------------------------------------ */
/* A reference to the provider by its place in the file (from 0), or by its key; NULL: none. */
struct oidc_client *oidc_client_at(struct oidc *o, size_t place);
struct oidc_client *oidc_client_of(struct oidc *o, struct str key);
void oidc_client_unref(struct oidc_client *c); /* NULL: nothing; not on its own thread */
const struct provider *oidc_provider(const struct oidc_client *c);
/* True if anybody may sign in by password; or the people of that account (0: operators). */
bool oidc_any_passwords(struct oidc *o);
bool oidc_passwords(struct oidc *o, struct directory *directory, uint32_t account_no);

/* A provider that does not answer is not asked again at once: the pause doubles from the first to
 * the longest with each failure, and ends with the first answer. */
#define OIDC_PAUSE_FIRST_MS 1000
#define OIDC_PAUSE_LONGEST_MS MINUTE_MS
/* The number of providers whose last request, within the last hour, was not answered. *ret_name:
 * the name of one, in the arena. */
size_t oidc_count_down(struct oidc *o, struct arena *arena, struct str *ret_name);

/* --- a question to a provider ----------------------------------------------------------------- */
struct oidc_ask {
    /* in; texts are valid until done */
    struct task done;
    struct executor *reply_to;
    struct oidc_client *client; /* the asker's reference */
    struct str code;            /* absent: asks for the sign-in endpoint */
    struct str verifier, nonce, redirect_uri;
    struct str issuer; /* as the browser returned it (RFC 9207); absent: not returned */
    /* out; texts are the arena's */
    bool good;
    bool is_down;     /* it did not answer, now or just before: not the person's fault */
    int64_t retry_ms; /* is_down: the time until it is asked again */
    char why[FETCH_WHY_BYTES];
    struct arena *arena;     /* the caller's, who must not use it until `done` */
    struct str endpoint;     /* without a code */
    struct id_claims claims; /* with one */
    /* oidc.c's */
    struct task task;
    bool was_answered;
};

/* False: too many requests are waiting for this provider. */
MUST_CHECK bool oidc_ask(struct oidc_ask *ask);
