/* The steps of Web Authentication Level 3, sections 7.1 and 7.2, for attestation "none": only the
 * browser vouches for a new key, in the form that libcrypto reads. */
#include "people/passkey.h"

#include "accounts/document_reader.h"
#include "people/sign_in_flow.h"
#include "json/writer.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <sodium.h>

#define BASE64 sodium_base64_VARIANT_URLSAFE_NO_PADDING
#define CLIENT_DATA_BYTES_MOST 4096
#define AUTHENTICATOR_DATA_BYTES_MOST 8192
#define SIGNATURE_BYTES_MOST 1024
#define RSA_BITS_LEAST 2048

/* Authenticator data: SHA-256 of the RP ID, flags, counter; of a new credential also the
 * authenticator's model, the length of its id, and the id. */
enum {
    AT_FLAGS = 32,
    AT_COUNT = 33,
    AT_CREDENTIAL_LENGTH = 53,
    AT_CREDENTIAL = 55,
    FLAG_USER_PRESENT = 1,
    FLAG_USER_VERIFIED = 4,
    FLAG_NEW_CREDENTIAL = 64,
};
#define DATA_BYTES_LEAST 37
#define CLOCKS_APART_MS (5 * MINUTE_MS) /* of two nodes, at most */

/* --- the user's document ---------------------------------------------------------------------- */

static bool read_one(struct arena *arena, const struct json *item, struct passkey *ret)
{
    struct document_reader r;
    struct str why;
    document_read_begin(&r, arena, item, NULL);
    *ret = (struct passkey){
        .id = document_text(&r, "PasskeyId"),
        .name = document_text(&r, "Name"),
        .credential = document_text(&r, "Credential"),
        .key = document_text(&r, "Key"),
        .created_ms = document_number(&r, "CreatedMs", 0, INT64_MAX),
        .last_used_ms = document_number(&r, "LastUsedMs", 0, INT64_MAX),
        .challenges_ms = used_once_read(&r, "ChallengeMs", "EarlierChallengesMs"),
        .sign_count = document_number(&r, "SignCount", 0, UINT32_MAX),
    };
    return document_read_end(&r, "passkey", ret->id, &why);
}

bool passkeys_read(struct arena *arena, const struct json *list,
                   struct passkey ret[PASSKEYS_PER_USER], size_t *ret_count)
{
    *ret_count = 0;
    if (!list || list->type != JSON_ARRAY)
        return false;
    for (const struct json *item = list->first; item; item = item->next) {
        if (*ret_count == PASSKEYS_PER_USER || !read_one(arena, item, &ret[*ret_count]))
            return false;
        ++*ret_count;
    }
    return true;
}

size_t passkeys_of(struct arena *arena, const struct user *u, struct passkey ret[PASSKEYS_PER_USER])
{
    struct json *list = NULL;
    struct str why;
    size_t count = 0;
    if (!u->passkeys.p)
        return 0;
    bool good = json_parse(arena, u->passkeys, &list, &why) &&
                passkeys_read(arena, list, ret, &count) && count == u->passkey_count;
    ASSERT(good); /* checked when the user was read, or printed by us */
    return count;
}

static void print_one(struct json_writer *w, const struct passkey *k)
{
    json_object(w);
    json_key_string(w, "PasskeyId", k->id);
    json_key_string(w, "Name", k->name);
    json_key_string(w, "Credential", k->credential);
    json_key_string(w, "Key", k->key);
    json_key_int(w, "CreatedMs", k->created_ms);
    json_key_int(w, "LastUsedMs", k->last_used_ms);
    used_once_print(w, &k->challenges_ms, "ChallengeMs", "EarlierChallengesMs");
    json_key_int(w, "SignCount", k->sign_count);
    json_end_object(w);
}

void user_set_passkeys(struct user *next, struct arena *arena, const struct passkey *keys,
                       size_t count)
{
    struct json_writer w;
    struct buf text = {0};
    ASSERT(count <= PASSKEYS_PER_USER);
    json_write_to(&w, &text);
    json_array(&w);
    for (size_t i = 0; i < count; i++)
        print_one(&w, &keys[i]);
    json_end_array(&w);
    next->passkeys = count ? arena_str(arena, buf_str(&text)) : STR_NONE;
    next->passkey_count = (uint32_t)count;
    buf_free(&text);
}

/* --- what a browser gives --------------------------------------------------------------------- */

/* False: absent, not base64url, or longer. */
static bool decode(struct arena *arena, struct str text, size_t most, struct str *ret)
{
    size_t n = 0;
    if (!text.p || text.n > most * 4 / 3 + 2)
        return false;
    unsigned char *bytes = arena_alloc(arena, most + 2);
    if (sodium_base642bin(bytes, most, text.p, text.n, NULL, &n, NULL, BASE64) != 0)
        return false;
    *ret = (struct str){(const char *)bytes, n};
    return true;
}

static struct str text_of(const struct json *object, const char *name)
{
    const struct json *member = object ? json_member(object, name) : NULL;
    return member && member->type == JSON_STRING ? member->text : STR_NONE;
}

struct str passkey_credential_of(const struct json *given)
{
    return text_of(given, "id");
}

struct str passkey_user_of(struct arena *arena, const struct json *given)
{
    struct str id = STR_NONE;
    bool good = decode(arena, text_of(json_member(given, "response"), "userHandle"), 64, &id);
    return good && id.n ? id : STR_NONE;
}

/* --- a ceremony ------------------------------------------------------------------------------- */

static bool is_same_text(struct str a, struct str b)
{
    return a.p && a.n == b.n && sodium_memcmp(a.p, b.p, a.n) == 0;
}

static const char *judge_client_data(struct arena *arena, struct str text,
                                     const struct passkey_ask *ask)
{
    struct json *data = NULL;
    struct str why;
    if (!json_parse(arena, text, &data, &why) || data->type != JSON_OBJECT ||
        json_repeated_member(data).p)
        return "clientDataJSON is not an object in JSON";
    const struct json *crossed = json_member(data, "crossOrigin");
    if (!str_is(text_of(data, "type"), ask->is_new ? "webauthn.create" : "webauthn.get"))
        return "it is of another type";
    if (!is_same_text(text_of(data, "challenge"), ask->challenge))
        return "it answers another challenge";
    if (!str_eq(text_of(data, "origin"), ask->origin) || (crossed && crossed->type != JSON_FALSE) ||
        json_member(data, "topOrigin"))
        return "it was made for another site's page";
    return NULL;
}

static const char *judge_authenticator_data(struct str data, const struct passkey_ask *ask,
                                            struct passkey *ret)
{
    const uint8_t *bytes = (const uint8_t *)data.p;
    uint8_t hash[32];
    crypto_hash_sha256(hash, (const unsigned char *)ask->rp_id.p, ask->rp_id.n);
    if (data.n < DATA_BYTES_LEAST || memcmp(bytes, hash, sizeof hash) != 0)
        return "it is for another site";
    if (!(bytes[AT_FLAGS] & FLAG_USER_PRESENT) || !(bytes[AT_FLAGS] & FLAG_USER_VERIFIED))
        return "the authenticator has not verified who uses it";
    ret->sign_count = (int64_t)bytes[AT_COUNT] << 24 | bytes[AT_COUNT + 1] << 16 |
                      bytes[AT_COUNT + 2] << 8 | bytes[AT_COUNT + 3];
    return NULL;
}

/* The id of the new credential, in its canonical text. */
static bool has_credential(struct arena *arena, struct str data, struct str id)
{
    const uint8_t *bytes = (const uint8_t *)data.p;
    if (data.n < AT_CREDENTIAL || !(bytes[AT_FLAGS] & FLAG_NEW_CREDENTIAL))
        return false;
    size_t n = (size_t)bytes[AT_CREDENTIAL_LENGTH] << 8 | bytes[AT_CREDENTIAL_LENGTH + 1];
    if (n == 0 || n > PASSKEY_CREDENTIAL_BYTES || data.n - AT_CREDENTIAL < n)
        return false;
    size_t room = sodium_base64_encoded_len(n, BASE64);
    char *text = arena_alloc(arena, room);
    sodium_bin2base64(text, room, bytes + AT_CREDENTIAL, n, BASE64);
    return str_is(id, text);
}

/* ES256, EdDSA (Ed25519) or RS256; NULL: another one. */
static EVP_PKEY *read_key(struct str der)
{
    const unsigned char *p = (const unsigned char *)der.p;
    char group[32] = "";
    size_t n = 0;
    EVP_PKEY *key = d2i_PUBKEY(NULL, &p, (long)der.n);
    if (!key)
        return NULL;
    int kind = EVP_PKEY_get_base_id(key);
    bool good = p == (const unsigned char *)der.p + der.n;
    if (kind == EVP_PKEY_EC)
        good = good && EVP_PKEY_get_group_name(key, group, sizeof group, &n) == 1 &&
               strcmp(group, "prime256v1") == 0;
    else if (kind == EVP_PKEY_RSA)
        good = good && EVP_PKEY_get_bits(key) >= RSA_BITS_LEAST;
    else
        good = good && kind == EVP_PKEY_ED25519;
    if (good)
        return key;
    EVP_PKEY_free(key);
    return NULL;
}

static bool is_usable(struct str der)
{
    EVP_PKEY *key = read_key(der);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return key != NULL;
}

/* The authenticator signs its data, followed by the hash of the browser's. */
static bool is_signed(struct str der, struct str data, struct str client_data, struct str signature)
{
    EVP_PKEY *key = read_key(der);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    struct buf text = {0};
    uint8_t hash[32];
    crypto_hash_sha256(hash, (const unsigned char *)client_data.p, client_data.n);
    buf_add_str(&text, data);
    buf_add(&text, hash, sizeof hash);
    const EVP_MD *digest =
        key && EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519 ? NULL : EVP_sha256();
    bool good = key && context && EVP_DigestVerifyInit(context, NULL, digest, NULL, key) == 1 &&
                EVP_DigestVerify(context, (const unsigned char *)signature.p, signature.n,
                                 (const unsigned char *)text.p, text.n) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    ERR_clear_error();
    buf_free(&text);
    return good;
}

const char *passkey_judge(struct arena *arena, const struct json *given,
                          const struct passkey_ask *ask, struct str key, struct passkey *ret)
{
    const struct json *response = json_member(given, "response");
    struct str client_data, data, der, signature;
    ret->credential = passkey_credential_of(given);
    ret->key = ask->is_new ? text_of(response, "publicKey") : key;
    if (!str_is(text_of(given, "type"), "public-key") || !ret->credential.p ||
        !decode(arena, text_of(response, "clientDataJSON"), CLIENT_DATA_BYTES_MOST, &client_data) ||
        !decode(arena, text_of(response, "authenticatorData"), AUTHENTICATOR_DATA_BYTES_MOST,
                &data) ||
        !decode(arena, ret->key, PASSKEY_KEY_BYTES, &der))
        return "it lacks a member, or one is not base64url";
    const char *why = judge_client_data(arena, client_data, ask);
    if (!why)
        why = judge_authenticator_data(data, ask, ret);
    if (why)
        return why;
    if (ask->is_new)
        return !has_credential(arena, data, ret->credential) ? "it has no new credential of that id"
               : !is_usable(der) ? "its key is of a kind that was not asked for"
                                 : NULL;
    bool good = decode(arena, text_of(response, "signature"), SIGNATURE_BYTES_MOST, &signature) &&
                is_signed(der, data, client_data, signature);
    return good ? NULL : "its signature is wrong";
}

const char *passkey_use(struct passkey *k, int64_t challenge_ms, int64_t sign_count, int64_t now_ms)
{
    bool counts = sign_count != 0 || k->sign_count != 0;
    if (challenge_ms > now_ms + SIGN_IN_FLOW_MS + CLOCKS_APART_MS)
        return "its challenge was made by a clock that was ahead";
    if (used_once_refuses(&k->challenges_ms, challenge_ms, now_ms + SIGN_IN_FLOW_MS))
        return "a challenge as late as this one has signed in already";
    if (counts && sign_count <= k->sign_count)
        return "the authenticator's counter went back: there may be a copy of it";
    used_once_add(&k->challenges_ms, challenge_ms);
    k->sign_count = sign_count;
    return NULL;
}
