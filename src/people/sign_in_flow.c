/* The cookie: RANDOM "." UNTIL "." WAY "." BEGUN-BY. The flow's secrets are MACs of the cookie, so
 * nobody knows the secrets of a forged cookie. */
#include "people/sign_in_flow.h"

#include "people/people_state.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>

static void derive(const struct people *p, const char *purpose, struct str cookie,
                   char ret_text[TOKEN_BYTES + 1])
{
    token_derive(p->options.vault.key, ret_text, "sign-in flow %s %.*s", purpose, STR_ARG(cookie));
}

struct str sign_in_flow_make(struct people *p, struct arena *arena, struct str way,
                             struct str begun_by)
{
    CHECK_MAGIC(p, PEOPLE_MAGIC);
    uint8_t random[16];
    char text[32];
    struct buf cookie = {0};
    env_random(p->options.env, random, sizeof random);
    sodium_bin2base64(text, sizeof text, random, sizeof random,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    buf_printf(&cookie, "%s.%" PRId64 ".%.*s.%.*s", text,
               env_wall_ms(p->options.env) + SIGN_IN_FLOW_MS, STR_ARG(way), STR_ARG(begun_by));
    ASSERT(cookie.n <= SIGN_IN_FLOW_BYTES_MOST);
    return arena_take(arena, &cookie);
}

bool sign_in_flow_read(struct people *p, struct str cookie, struct sign_in_flow *ret)
{
    CHECK_MAGIC(p, PEOPLE_MAGIC);
    struct str rest = cookie;
    char until[20] = "";
    if (!cookie.p || cookie.n > SIGN_IN_FLOW_BYTES_MOST)
        return false;
    (void)str_cut(&rest, '.');
    struct str number = str_cut(&rest, '.');
    if (!rest.p || number.n >= sizeof until)
        return false;
    memcpy(until, number.p, number.n);
    ret->until_ms = strtoll(until, NULL, 10);
    if (ret->until_ms < env_wall_ms(p->options.env))
        return false;
    ret->way = str_cut(&rest, '.');
    ret->begun_by = rest;
    derive(p, "state", cookie, ret->state);
    derive(p, "nonce", cookie, ret->nonce);
    derive(p, "verifier", cookie, ret->verifier);
    return true;
}

void sign_in_flow_challenge(const struct sign_in_flow *flow, char ret[TOKEN_BYTES + 1])
{
    uint8_t hash[32];
    crypto_hash_sha256(hash, (const unsigned char *)flow->verifier, TOKEN_BYTES);
    token_print(hash, ret);
}
