/* Argon2id by libsodium, with parameters as OWASP recommends: 32 MiB and two passes, one at a
 * time. */
#include "people/password.h"

#include "base/check.h"

#include <sodium.h>
#include <stdio.h>

#define STRETCH_PASSES 2
#define STRETCH_BYTES ((size_t)32 << 20)

static const char code_alphabet[] = "abcdefghjkmnpqrstuvwxyz234567890";
_Static_assert(sizeof code_alphabet - 1 == 32, "5 bits a character");
_Static_assert(PASSWORD_HASH_BYTES >= crypto_pwhash_STRBYTES, "libsodium's text fits");

/* The text that crypto_pwhash_str makes: the numbers, "SALT$HASH" in base64 without padding. */
#define NUMBERS "$argon2id$v=19$m=32768,t=2,p=1$"
#define BASE64 sodium_base64_VARIANT_ORIGINAL_NO_PADDING
#define SALT_CHARACTERS 22 /* of crypto_pwhash_SALTBYTES */
#define HEAD_CHARACTERS (sizeof NUMBERS - 1 + SALT_CHARACTERS)
_Static_assert(STRETCH_PASSES == 2 && STRETCH_BYTES == (size_t)32768 << 10, "as NUMBERS says");
_Static_assert(crypto_pwhash_SALTBYTES == 16, "SALT_CHARACTERS of base64");

static size_t characters(struct str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++)
        n += ((unsigned char)text.p[i] & 0xc0) != 0x80;
    return n;
}

static bool one_character(struct str text)
{
    for (size_t i = 1; i < text.n; i++)
        if (text.p[i] != text.p[0])
            return false;
    return true;
}

bool password_good(struct str password, struct str email, const char **ret_why)
{
    size_t n = characters(password);
    if (n < PASSWORD_CHARACTERS_LEAST || n > PASSWORD_CHARACTERS_MOST) {
        /* Forms show the rule beside the field. */
        *ret_why = n < PASSWORD_CHARACTERS_LEAST
                       ? "has fewer than " NUMBER_AS_TEXT(PASSWORD_CHARACTERS_LEAST) " characters"
                       : "has more than " NUMBER_AS_TEXT(PASSWORD_CHARACTERS_MOST) " characters";
        return false;
    }
    bool is_email =
        email.p && password.n == email.n && strncasecmp(password.p, email.p, email.n) == 0;
    if (is_email || one_character(password)) {
        *ret_why = "is too easy to guess";
        return false;
    }
    return true;
}

/* False: there is none, or the hash has other parameters. */
static bool read_salt(struct str hash, unsigned char ret_salt[crypto_pwhash_SALTBYTES])
{
    size_t n = 0;
    return str_has_prefix(hash, NUMBERS) && hash.n > HEAD_CHARACTERS &&
           hash.p[HEAD_CHARACTERS] == '$' &&
           sodium_base642bin(ret_salt, crypto_pwhash_SALTBYTES, hash.p + sizeof NUMBERS - 1,
                             SALT_CHARACTERS, NULL, &n, NULL, BASE64) == 0 &&
           n == crypto_pwhash_SALTBYTES;
}

/* crypto_pwhash_str chooses the salt itself, so the text is put together here. */
void password_hash(struct str password, struct str like, char ret_hash[PASSWORD_HASH_BYTES])
{
    unsigned char salt[crypto_pwhash_SALTBYTES], hash[32];
    char salt_text[SALT_CHARACTERS + 1], hash_text[44];
    if (!read_salt(like, salt))
        randombytes_buf(salt, sizeof salt);
    ASSERT(crypto_pwhash(hash, sizeof hash, password.p, password.n, salt, STRETCH_PASSES,
                         STRETCH_BYTES, crypto_pwhash_ALG_ARGON2ID13) == 0);
    sodium_bin2base64(salt_text, sizeof salt_text, salt, sizeof salt, BASE64);
    sodium_bin2base64(hash_text, sizeof hash_text, hash, sizeof hash, BASE64);
    memset(ret_hash, 0, PASSWORD_HASH_BYTES);
    snprintf(ret_hash, PASSWORD_HASH_BYTES, NUMBERS "%s$%s", salt_text, hash_text);
    sodium_memzero(hash, sizeof hash);
    sodium_memzero(hash_text, sizeof hash_text);
}

static bool same_salt(struct str a, struct str b)
{
    return str_has_prefix(a, NUMBERS) && a.n > HEAD_CHARACTERS && b.n > HEAD_CHARACTERS &&
           memcmp(a.p, b.p, HEAD_CHARACTERS) == 0;
}

bool password_lacks_salt(struct str hash, struct str like)
{
    unsigned char salt[crypto_pwhash_SALTBYTES];
    return read_salt(like, salt) && !same_salt(like, hash);
}

/* For a hash with other parameters, made by another version. */
static bool verify_strange(struct str hash, struct str password)
{
    char text[PASSWORD_HASH_BYTES] = {0};
    ASSERT(hash.n < sizeof text);
    memcpy(text, hash.p, hash.n);
    return crypto_pwhash_str_verify(text, password.p, password.n) == 0;
}

/* Hashes the password with the first hash's salt, and compares it with this hash and later ones of
 * the same salt. */
static void verify_from(const struct str *hashes, size_t count, struct str password,
                        bool *ret_right)
{
    char text[PASSWORD_HASH_BYTES];
    password_hash(password, hashes[0], text);
    for (size_t i = 0; i < count; i++)
        if (same_salt(hashes[0], hashes[i]))
            ret_right[i] =
                hashes[i].n == strlen(text) && sodium_memcmp(hashes[i].p, text, hashes[i].n) == 0;
    sodium_memzero(text, sizeof text);
}

void password_verify_each(const struct str *hashes, size_t count, struct str password,
                          bool *ret_right)
{
    unsigned char salt[crypto_pwhash_SALTBYTES];
    char nobodys[PASSWORD_HASH_BYTES];
    size_t stretched = 0;
    for (size_t i = 0; i < count; i++)
        ret_right[i] = false;
    for (size_t i = 0; i < count; i++) {
        size_t before = 0;
        while (before < i && !same_salt(hashes[before], hashes[i]))
            before++;
        if (!hashes[i].p || before < i)
            continue;
        if (read_salt(hashes[i], salt))
            verify_from(hashes + i, count - i, password, ret_right + i);
        else
            ret_right[i] = verify_strange(hashes[i], password);
        stretched++;
    }
    if (stretched == 0)
        password_hash(password, STR_NONE, nobodys); /* unknown names take the same time */
}

bool password_verify(struct str hash, struct str password)
{
    bool right;
    password_verify_each(&hash, 1, password, &right);
    return right;
}

void recovery_code_make(struct env *env, char ret_code[RECOVERY_CODE_BYTES + 1])
{
    uint8_t random[RECOVERY_CODE_BYTES];
    env_random(env, random, sizeof random);
    for (size_t i = 0; i < RECOVERY_CODE_BYTES; i++)
        ret_code[i] = i == 5 ? '-' : code_alphabet[random[i] & 31];
    ret_code[RECOVERY_CODE_BYTES] = '\0';
    sodium_memzero(random, sizeof random);
}

bool recovery_code_hash(struct str typed, uint8_t ret_hash[32])
{
    char plain[RECOVERY_CODE_BYTES - 1];
    size_t n = 0;
    for (size_t i = 0; i < typed.n; i++) {
        char c = char_lower(typed.p[i]);
        if (c == '-' || c == ' ')
            continue;
        if (n == sizeof plain || !char_in(c, code_alphabet))
            return false;
        plain[n++] = c;
    }
    if (n != sizeof plain)
        return false;
    crypto_hash_sha256(ret_hash, (const unsigned char *)plain, sizeof plain);
    return true;
}
