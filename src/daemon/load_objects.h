/* At the start: gives each stored object to the part of the daemon that owns it. */
#pragma once

#include "daemon/object_owners.h"

/* On failure *ret_why is a sentence, malloc'ed. */
MUST_CHECK bool load_objects(struct store *store, const struct object_owners *owners,
                             char **ret_why);
