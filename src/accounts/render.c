/* Prints the objects of the contract's section 6, members in the same order, and masks user and
 * password of a URL. */
#include "accounts/render.h"

#include "accounts/document.h"
#include "accounts/names.h"
#include "domain/negotiate.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>

void render_partner(struct json_writer *w, const struct partner *p)
{
    json_object(w);
    json_key_string(w, "PartnerId", p->id);
    json_key_string(w, "Name", p->name);
    json_key_bool(w, "Enabled", p->enabled);
    json_key_url_masked(w, "OperationsUrl", p->operations_url);
    if (p->operations_format)
        json_key_c(w, "OperationsFormat", operations_format_name(p->operations_format));
    json_key_string_if(w, "OperationsEmail", p->operations_email);
    if (p->cluster)
        json_key_int(w, "Cluster", p->cluster);
    json_end_object(w);
}

/* Prints what identifies the certificate, and when it expires; neither key nor certificate. */
static void certificate(struct json_writer *w, const struct client_certificate *c)
{
    char hex[2 * sizeof c->sha256 + 1];
    sodium_bin2hex(hex, sizeof hex, c->sha256, sizeof c->sha256);
    json_key_object(w, "ClientCertificate");
    json_key_string(w, "Subject", c->subject);
    json_key_string(w, "Sha256", str_of(hex));
    json_key_time(w, "NotAfter", c->not_after_ms);
    json_end_object(w);
}

void render_older_until(struct json_writer *w, const struct secrets *s, int64_t now_ms)
{
    int64_t until_ms = secrets_older_until_ms(s, now_ms);
    json_key_time_or_null(w, "OlderSecretUntil", until_ms);
}

void render_app(struct json_writer *w, const struct app *a, bool with_secret)
{
    const struct app_terms *t = &a->terms;
    json_object(w);
    json_key_string(w, "AppId", a->id);
    json_key_string(w, "Name", a->name);
    json_key_bool(w, "Enabled", a->enabled);
    json_key_raw(w, "CurrencyValue", a->currency_text);
    json_key_int(w, "RewardDecimals", t->reward_decimals);
    json_key_money(w, "DisqualificationReward", t->disqualification_reward_micros,
                   t->reward_decimals < 2 ? t->reward_decimals : 2);
    json_key_int(w, "DisqualificationCap", t->disqualification_cap);
    for (int kind = LANE_SUCCESS; kind < LANE_KINDS; kind++)
        json_key_url_masked(w, lane_url_field((enum lane_kind)kind), a->url[kind]);
    json_key_int(w, "TimeoutSeconds", a->timeout_ms / 1000);
    json_key_int(w, "MaxConcurrency", a->max_concurrency);
    json_key_int(w, "RatePerSecond", a->rate_per_second);
    document_print_app_choices(w, a);
    if (a->certificate.pem.p)
        certificate(w, &a->certificate);
    if (with_secret)
        json_key_string(w, "CallbackSecret", a->secrets.newest);
    json_end_object(w);
}

void render_client(struct json_writer *w, const struct client *c)
{
    json_object(w);
    json_key_string(w, "ClientId", c->id);
    json_key_string(w, "Name", c->name);
    json_key_string(w, "Integration", str_of(integration_name(c->integration)));
    json_key_bool(w, "Enabled", c->enabled);
    json_end_object(w);
}

static void time_if_any(struct json_writer *w, const char *name, int64_t ms)
{
    if (!ms)
        return;
    json_key_time(w, name, ms);
}

void render_key(struct json_writer *w, const struct api_key *k, struct str key_text,
                struct str creator, bool creator_gone)
{
    json_object(w);
    json_key_string(w, "KeyId", k->id);
    json_key_string(w, "Name", k->name);
    json_key_array(w, "Scopes");
    for (size_t i = 0; i < scope_count; i++)
        if (k->scopes & scope_names[i].bit)
            json_c(w, scope_names[i].name);
    json_end_array(w);
    time_if_any(w, "ExpiresAt", k->expires_ms);
    time_if_any(w, "LastUsedAt", atomic_load(&k->used_ms));
    json_key_string_if(w, "CreatedBy", creator);
    if (creator_gone)
        json_key_bool(w, "CreatorGone", true);
    json_key_string_if(w, "Key", key_text);
    json_end_object(w);
}

void etag_print(char ret_text[ETAG_MAX], uint64_t version)
{
    snprintf(ret_text, ETAG_MAX, "\"v%" PRIu64 "\"", version);
}

bool etag_matches(struct str if_match, uint64_t version)
{
    char etag[ETAG_MAX];
    etag_print(etag, version);
    return !if_match.p || etag_listed_strong(if_match, str_of(etag));
}
