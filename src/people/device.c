/* ID "." MAC: the MAC covers the user and the id, under a key that only this service can derive. So
 * nothing is stored, and nobody can forge a token. */
#include "people/device.h"

#include "people/people_state.h"

#include <sodium.h>

static void print_mac(const struct people *p, struct str user_id, struct str id,
                      char ret_text[TOKEN_BYTES + 1])
{
    token_derive(p->options.vault.key, ret_text, "known device %.*s %.*s", STR_ARG(user_id),
                 STR_ARG(id));
}

void device_make(struct people *p, struct str user_id, char ret_token[DEVICE_TOKEN_BYTES + 1])
{
    CHECK_MAGIC(p, PEOPLE_MAGIC);
    uint8_t random[16];
    env_random(p->options.env, random, sizeof random);
    sodium_bin2base64(ret_token, DEVICE_ID_BYTES + 1, random, sizeof random,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    print_mac(p, user_id, (struct str){ret_token, DEVICE_ID_BYTES},
              ret_token + DEVICE_ID_BYTES + 1);
    ret_token[DEVICE_ID_BYTES] = '.';
}

bool device_is_of(struct people *p, struct str token, struct str user_id)
{
    CHECK_MAGIC(p, PEOPLE_MAGIC);
    char want[TOKEN_BYTES + 1];
    if (token.n != DEVICE_TOKEN_BYTES || token.p[DEVICE_ID_BYTES] != '.')
        return false;
    print_mac(p, user_id, (struct str){token.p, DEVICE_ID_BYTES}, want);
    return sodium_memcmp(want, token.p + DEVICE_ID_BYTES + 1, TOKEN_BYTES) == 0;
}
