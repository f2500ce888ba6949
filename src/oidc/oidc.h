/* Signing people in by identity providers (OpenID Connect Core, the code flow): where a provider
 * asks for them, and who they are by the code that it hands out. Each provider has a thread of its
 * own, so that one that is slow keeps nobody waiting but its own people. */
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
struct oidc_client; /* a provider, and what is known of it; references */

struct oidc *oidc_new(const struct oidc_options *options);
/* Takes over the providers, at start and at SIGHUP; those before end with their last reference.
 * ca_file: NULL is the system's. */
void oidc_set(struct oidc *o, struct providers *providers, const char *ca_file,
              const struct destination_rules *rules);
void oidc_abort(struct oidc *o); /* questions under way end soon, and are not good */
void oidc_free(struct oidc *o);  /* NULL too; no reference is left */

/* --- any thread ------------------------------------------------------------------------------ */
/* Of its place in the file (from 0), or of its key; NULL: there is none. A reference. */
struct oidc_client *oidc_client_at(struct oidc *o, size_t place);
struct oidc_client *oidc_client_of(struct oidc *o, struct str key);
void oidc_client_unref(struct oidc_client *c); /* NULL: nothing; not on its own thread */
const struct provider *oidc_provider(const struct oidc_client *c);
/* Whether anybody may sign in by password; or the people of that account (0: operators). */
bool oidc_any_passwords(struct oidc *o);
bool oidc_passwords(struct oidc *o, struct directory *directory, uint32_t account_no);

/* A provider that does not answer is not asked again at once: the pause doubles from the first to
 * the longest with each failure, and ends with the first answer. */
#define OIDC_PAUSE_FIRST_MS 1000
#define OIDC_PAUSE_LONGEST_MS MINUTE_MS
/* How many of them did not answer when they were asked last, within the last hour; of one the name,
 * in the arena. */
size_t oidc_count_down(struct oidc *o, struct arena *arena, struct str *ret_name);

/* --- a question to a provider ----------------------------------------------------------------- */
struct oidc_ask {
    /* in; texts are valid until done */
    struct task done;
    struct executor *reply_to;
    struct oidc_client *client; /* the asker's reference */
    struct str code;            /* absent: where it asks for people */
    struct str verifier, nonce, redirect_uri;
    struct str issuer; /* as the browser came back with it (RFC 9207); absent: without */
    /* out; texts are the arena's */
    bool good;
    bool is_down;     /* it did not answer, now or just before: nobody's fault who signs in */
    int64_t retry_ms; /* is_down: when it is asked again, from now */
    char why[FETCH_WHY_BYTES];
    struct arena *arena;     /* the asker's, which leaves it alone until done */
    struct str endpoint;     /* without a code */
    struct id_claims claims; /* with one */
    /* oidc.c's */
    struct task task;
    bool was_answered;
};

/* False: too many are waiting for this provider. */
MUST_CHECK bool oidc_ask(struct oidc_ask *ask);
