/* At start: every object that the store keeps, given to the part of the daemon that owns it. */
#pragma once

#include "accounts/changes.h"
#include "operations/operations.h"
#include "people/people.h"
#include "services/idempotency_records.h"
#include "services/recovery.h"

struct object_owners {
    struct store *store;
    struct directory *directory;
    struct accounts *accounts;
    struct people *people;
    struct recoveries *recoveries;
    struct idempotency *idempotency;
    struct operations *operations;
};

/* On failure *ret_why is a sentence, malloc'ed. */
MUST_CHECK bool load_objects(const struct object_owners *owners, char **ret_why);
