/* Argon2id by libsodium, with OWASP's sort of numbers: 32 MiB and two passes, one at a time. */
#include "people/password.h"

#include "base/check.h"

#include <sodium.h>

#define STRETCH_PASSES 2
#define STRETCH_BYTES ((size_t)32 << 20)

static const char code_alphabet[] = "abcdefghjkmnpqrstuvwxyz234567890";
_Static_assert(sizeof code_alphabet - 1 == 32, "5 bits a character");
_Static_assert(PASSWORD_HASH_BYTES >= crypto_pwhash_STRBYTES, "libsodium's text fits");

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
        *ret_why = "must have 12 to 128 characters; a few words are easy to remember";
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

void password_hash(struct str password, char ret_hash[PASSWORD_HASH_BYTES])
{
    memset(ret_hash, 0, PASSWORD_HASH_BYTES);
    ASSERT(crypto_pwhash_str_alg(ret_hash, password.p, password.n, STRETCH_PASSES, STRETCH_BYTES,
                                 crypto_pwhash_ALG_ARGON2ID13) == 0);
}

/* Of no password: what unknown names are compared with, so that they take as long. */
static const char *nobodys_hash(void)
{
    static char hash[PASSWORD_HASH_BYTES];
    static bool made; /* by the one worker for slow calls */
    if (!made) {
        unsigned char random[32];
        randombytes_buf(random, sizeof random);
        password_hash((struct str){(const char *)random, sizeof random}, hash);
        made = true;
    }
    return hash;
}

bool password_verify(struct str hash, struct str password)
{
    char text[PASSWORD_HASH_BYTES] = {0};
    ASSERT(hash.n < sizeof text);
    if (hash.p)
        memcpy(text, hash.p, hash.n);
    const char *against = hash.p ? text : nobodys_hash();
    return crypto_pwhash_str_verify(against, password.p, password.n) == 0 && hash.p;
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
        char c = typed.p[i];
        if (c == '-' || c == ' ')
            continue;
        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if (n == sizeof plain || !char_in(c, code_alphabet))
            return false;
        plain[n++] = c;
    }
    if (n != sizeof plain)
        return false;
    crypto_hash_sha256(ret_hash, (const unsigned char *)plain, sizeof plain);
    return true;
}
