/* The source of the master key: POSTBACKD_MASTER_KEY, or a file in the store's directory. */
#pragma once

#include "accounts/vault.h"

/* given: POSTBACKD_MASTER_KEY, or absent. second: POSTBACKD_SECOND_MASTER_KEY, or absent.
 * *ret_why is malloc'ed. */
MUST_CHECK bool master_key_load(struct str given, struct str second, const char *directory,
                                struct env *env, struct vault *ret_vault, char **ret_why);
bool master_key_file_is_there(const char *directory);
/* Logs a warning that the key file is beside the data. */
void master_key_file_warn(const char *directory);
/* The message if a store with secrets has neither key nor file; malloc'ed. */
char *master_key_missing(const char *directory);
/* Removes a key file that this start has made: it does not open the store's secrets. */
void master_key_file_unmake(const char *directory);
/* False: the directory's key file exists but holds no key; *ret_why is malloc'ed. Makes nothing. */
MUST_CHECK bool master_key_file_check(const char *directory, bool *ret_is_there, char **ret_why);
