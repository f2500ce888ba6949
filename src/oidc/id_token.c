/* Checks an ID token's claims in the order of OpenID Connect Core, 3.1.3.7; see id_token.h. */
#include "oidc/id_token.h"

#include "domain/email.h"
#include "json/reader.h"

#include <sodium.h>
#include <stdlib.h>

#define SKEW_S 60
#define NAME_BYTES_MOST 256

/* A NumericDate (RFC 7519, section 2): seconds; a fraction is ignored. */
static bool read_time(const struct json *claims, const char *name, int64_t *ret)
{
    const struct json *v = json_member(claims, name);
    struct str text = v && v->type == JSON_NUMBER ? v->text : STR_NONE;
    struct str whole = text.p ? str_cut(&text, '.') : STR_NONE;
    uint64_t seconds;
    if (whole.n > 12 || !str_parse_uint(whole, INT64_MAX, &seconds))
        return false;
    *ret = (int64_t)seconds;
    return true;
}

static struct str text_of(const struct json *claims, const char *name)
{
    const struct json *v = json_member(claims, name);
    return v && v->type == JSON_STRING ? v->text : STR_NONE;
}

/* A token for several audiences must name this client as the one that it was made for (azp). */
static bool is_for(const struct json *claims, struct str client_id)
{
    const struct json *aud = json_member(claims, "aud"), *azp = json_member(claims, "azp");
    bool found = false;
    if (azp && !str_eq(text_of(claims, "azp"), client_id))
        return false;
    if (aud && aud->type == JSON_STRING)
        return str_eq(aud->text, client_id);
    if (!aud || aud->type != JSON_ARRAY || (aud->count > 1 && !azp))
        return false;
    for (const struct json *a = aud->first; a; a = a->next)
        found |= a->type == JSON_STRING && str_eq(a->text, client_id);
    return found;
}

static const char *judge_times(const struct json *claims, int64_t now_s)
{
    int64_t exp, iat, nbf = 0;
    if (!read_time(claims, "exp", &exp) || !read_time(claims, "iat", &iat))
        return "the ID token lacks exp or iat";
    if (json_member(claims, "nbf") && !read_time(claims, "nbf", &nbf))
        return "the ID token's nbf is no time";
    if (now_s >= exp + SKEW_S)
        return "the ID token has expired";
    if (iat > now_s + SKEW_S || nbf > now_s + SKEW_S)
        return "the ID token is from the future; compare the clocks";
    return NULL;
}

static bool is_subject(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] > '~')
            return false;
    return s.n >= 1 && s.n <= SUBJECT_BYTES_MOST;
}

static const char *judge(const struct json *claims, const struct provider *p, struct str nonce,
                         int64_t now_ms)
{
    struct str given = text_of(claims, "nonce");
    if (claims->type != JSON_OBJECT || json_repeated_member(claims).p)
        return "the ID token is no object with each claim once";
    if (!str_eq(text_of(claims, "iss"), p->issuer))
        return "the ID token is of another issuer";
    if (!is_for(claims, p->client_id))
        return "the ID token is for another client (aud, azp)";
    if (!given.p || given.n != nonce.n || sodium_memcmp(given.p, nonce.p, nonce.n) != 0)
        return "the ID token is of another sign-in (nonce)";
    if (!is_subject(text_of(claims, "sub")))
        return "the ID token names nobody (sub)";
    return judge_times(claims, now_ms / 1000);
}

/* The address is shown, and never identifies a person. An address that the provider has not
 * verified is not used: it may be anybody's. Without email_verified the provider vouches for it. */
static struct str email_of(struct arena *arena, const struct json *claims)
{
    const struct json *verified = json_member(claims, "email_verified");
    struct str email = text_of(claims, "email");
    if ((verified && verified->type != JSON_TRUE) || email_fault(email))
        return STR_NONE;
    return email_lower(arena, email);
}

static int64_t auth_time_of(const struct json *claims)
{
    int64_t auth_s = 0;
    if (!json_member(claims, "auth_time"))
        return 0;
    return read_time(claims, "auth_time", &auth_s) && auth_s > 0 ? auth_s : AUTH_TIME_WRONG;
}

const char *id_token_judge_anew(const struct id_claims *claims, int64_t since_ms, int64_t now_ms,
                                bool *ret_is_old)
{
    *ret_is_old = false;
    if (claims->auth_s == AUTH_TIME_WRONG)
        return "the ID token's auth_time is no time";
    *ret_is_old = claims->auth_s && claims->auth_s < since_ms / 1000 - SKEW_S;
    if (*ret_is_old)
        return "the provider did not have the person sign in again (auth_time)";
    if (claims->auth_s > now_ms / 1000 + SKEW_S)
        return "the ID token's auth_time is in the future; compare the clocks";
    return NULL;
}

bool id_token_judge(struct arena *arena, struct str text, const struct provider *p,
                    struct str nonce, int64_t now_ms, struct id_claims *ret, const char **ret_why)
{
    struct json *claims = NULL;
    struct str why = STR_NONE;
    *ret_why = "the ID token's claims are no JSON";
    if (!json_parse(arena, text, &claims, &why))
        return false;
    *ret_why = judge(claims, p, nonce, now_ms);
    if (*ret_why)
        return false;
    struct str name = text_of(claims, "name");
    *ret = (struct id_claims){
        .subject = text_of(claims, "sub"),
        .email = email_of(arena, claims),
        .name = name.n ? str_utf8_prefix(name, NAME_BYTES_MOST) : STR_NONE,
        .role = provider_role(p, json_member(claims, p->groups_claim.p)),
        .auth_s = auth_time_of(claims),
    };
    return true;
}
