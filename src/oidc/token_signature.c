/* The token names the algorithm, from a short list of asymmetric ones; this file decides which kind
 * of key the algorithm takes. So "none" is unknown, and a public key is never used for an HMAC. RSA
 * keys below 2,048 bits are not used. */
#include "oidc/token_signature.h"

#include "json/reader.h"
#include "json/writer.h"

#include <cjose/cjose.h>
#include <sodium.h>

#define TOKEN_BYTES_MOST ((size_t)64 * 1024)
#define KEYS_TRIED_MOST 16
#define RSA_TEXT_LEAST 342 /* base64url of the 256 bytes of 2,048 bits */

static const struct algorithm {
    const char *name, *kind, *curve;
} algorithms[] = {
    {"RS256", "RSA", NULL},   {"RS384", "RSA", NULL},   {"RS512", "RSA", NULL},
    {"PS256", "RSA", NULL},   {"PS384", "RSA", NULL},   {"PS512", "RSA", NULL},
    {"ES256", "EC", "P-256"}, {"ES384", "EC", "P-384"}, {"ES512", "EC", "P-521"},
};

static const struct algorithm *algorithm_of(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(algorithms); i++)
        if (str_is(name, algorithms[i].name))
            return &algorithms[i];
    return NULL;
}

/* The protected header; NULL: it is invalid, or has `crit`. */
static const struct json *header_of(struct arena *arena, struct str token)
{
    struct str rest = token, text = str_cut(&rest, '.'), why = STR_NONE;
    unsigned char *bytes = arena_alloc(arena, text.n + 1);
    struct json *header = NULL;
    size_t n = 0;
    if (sodium_base642bin(bytes, text.n + 1, text.p, text.n, NULL, &n, NULL,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
        !json_parse(arena, (struct str){(char *)bytes, n}, &header, &why))
        return NULL;
    bool plain = header->type == JSON_OBJECT && !json_repeated_member(header).p &&
                 !json_member(header, "crit");
    return plain ? header : NULL;
}

static bool is_or_absent(const struct json *key, const char *name, struct str value)
{
    return !json_member(key, name) || str_eq(json_member_text(key, name), value);
}

static bool fits(const struct json *key, const struct algorithm *a, struct str kid)
{
    return str_is(json_member_text(key, "kty"), a->kind) &&
           (!a->curve || str_is(json_member_text(key, "crv"), a->curve)) &&
           (a->curve || json_member_text(key, "n").n >= RSA_TEXT_LEAST) &&
           is_or_absent(key, "use", STR("sig")) && is_or_absent(key, "alg", str_of(a->name)) &&
           (!kid.p || str_eq(json_member_text(key, "kid"), kid));
}

/* Imports only the members of a public key. */
static cjose_jwk_t *import_key(const struct json *key)
{
    static const char *const members[] = {"kty", "n", "e", "crv", "x", "y"};
    struct buf text = {0};
    struct json_writer w;
    json_write_to(&w, &text);
    json_object(&w);
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (json_member_text(key, members[i]).p)
            json_key_string(&w, members[i], json_member_text(key, members[i]));
    json_end_object(&w);
    cjose_jwk_t *jwk = cjose_jwk_import(text.p, text.n, NULL);
    buf_free(&text);
    return jwk;
}

static bool is_signed_by(struct str token, const struct json *key, struct arena *arena,
                         struct str *ret_claims)
{
    cjose_jwk_t *jwk = import_key(key);
    cjose_jws_t *jws = jwk ? cjose_jws_import(token.p, token.n, NULL) : NULL;
    uint8_t *claims = NULL;
    size_t n = 0;
    bool good =
        jws && cjose_jws_verify(jws, jwk, NULL) && cjose_jws_get_plaintext(jws, &claims, &n, NULL);
    if (good)
        *ret_claims = arena_str(arena, (struct str){(const char *)claims, n});
    cjose_jws_release(jws);
    cjose_jwk_release(jwk);
    return good;
}

enum signature_verdict signature_judge(struct arena *arena, struct str token, struct str keys,
                                       struct str *ret_claims, const char **ret_why)
{
    struct json *set = NULL;
    struct str why = STR_NONE;
    const struct json *header = token.n <= TOKEN_BYTES_MOST ? header_of(arena, token) : NULL;
    const struct algorithm *a = header ? algorithm_of(json_member_text(header, "alg")) : NULL;
    int tried = 0;
    *ret_why = "the ID token is not signed by an algorithm that is allowed";
    if (!a)
        return SIGNATURE_BAD;
    *ret_why = "the provider's keys are no JWK Set";
    if (!json_parse(arena, keys, &set, &why))
        return SIGNATURE_BAD;
    const struct json *list = json_member(set, "keys");
    for (const struct json *key = list && list->type == JSON_ARRAY ? list->first : NULL;
         key && tried < KEYS_TRIED_MOST; key = key->next) {
        if (!fits(key, a, json_member_text(header, "kid")))
            continue;
        tried++;
        if (is_signed_by(token, key, arena, ret_claims))
            return SIGNATURE_GOOD;
    }
    *ret_why =
        tried ? "the ID token's signature is wrong"
              : "the ID token is signed by a key that the provider does not publish, or by an RSA"
                " key of less than 2,048 bits";
    return tried ? SIGNATURE_BAD : SIGNATURE_UNKNOWN_KEY;
}
