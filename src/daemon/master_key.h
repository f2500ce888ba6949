/* Where the master key comes from: POSTBACKD_MASTER_KEY, or a file made in the store's directory.
 */
#pragma once

#include "accounts/vault.h"

/* given: the environment's text, or absent. *ret_why is malloc'ed. */
MUST_CHECK bool master_key_load(struct str given, const char *directory, struct env *env,
                                uint8_t ret_key[MASTER_KEY_BYTES], char **ret_why);
