/* ID "." MAC: the MAC covers the user and the id, under a key that only this service can derive. So
 * nothing is stored, and nobody can forge a token. */
#include "people/device.h"

#include "people/people_state.h"

#include <sodium.h>

#define BASE64 sodium_base64_VARIANT_URLSAFE_NO_PADDING

static void print_mac(const struct people *p, struct str user_id, struct str id, char ret_text[44])
{
    uint8_t mac[VAULT_DERIVED_BYTES];
    struct buf label = {0};
    buf_printf(&label, "known device %.*s %.*s", STR_ARG(user_id), STR_ARG(id));
    vault_derive(p->options.vault.key, buf_str(&label), mac);
    sodium_bin2base64(ret_text, 44, mac, sizeof mac, BASE64);
    buf_free(&label);
}

void device_make(struct people *p, struct str user_id, char ret_token[DEVICE_TOKEN_BYTES + 1])
{
    CHECK_MAGIC(p, PEOPLE_MAGIC);
    uint8_t random[16];
    env_random(p->options.env, random, sizeof random);
    sodium_bin2base64(ret_token, DEVICE_ID_BYTES + 1, random, sizeof random, BASE64);
    print_mac(p, user_id, (struct str){ret_token, DEVICE_ID_BYTES},
              ret_token + DEVICE_ID_BYTES + 1);
    ret_token[DEVICE_ID_BYTES] = '.';
}

bool device_is_of(struct people *p, struct str token, struct str user_id)
{
    CHECK_MAGIC(p, PEOPLE_MAGIC);
    char want[44];
    if (token.n != DEVICE_TOKEN_BYTES || token.p[DEVICE_ID_BYTES] != '.')
        return false;
    print_mac(p, user_id, (struct str){token.p, DEVICE_ID_BYTES}, want);
    return sodium_memcmp(want, token.p + DEVICE_ID_BYTES + 1, 43) == 0;
}
