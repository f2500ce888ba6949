/* Where the master key comes from: POSTBACKD_MASTER_KEY, or a file made in the store's directory.
 */
#pragma once

#include "accounts/vault.h"

/* given: POSTBACKD_MASTER_KEY, or absent. second: POSTBACKD_SECOND_MASTER_KEY, or absent.
 * *ret_why is malloc'ed. */
MUST_CHECK bool master_key_load(struct str given, struct str second, const char *directory,
                                struct env *env, struct vault *ret_vault, char **ret_why);
bool master_key_file_is_there(const char *directory);
/* Logs that the key is in that file, beside the data. */
void master_key_file_warn(const char *directory);
/* Why a store that has secrets cannot start without either; malloc'ed. */
char *master_key_missing(const char *directory);
/* Of one that this start has made: it does not open what the store has. */
void master_key_file_unmake(const char *directory);
/* Whether the file of a store's directory, if it is there, holds a key; nothing is made. *ret_why
 * is malloc'ed. */
MUST_CHECK bool master_key_file_check(const char *directory, bool *ret_is_there, char **ret_why);
