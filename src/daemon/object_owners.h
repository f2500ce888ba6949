/* The parts of the daemon that own stored objects. */
#pragma once

#include "accounts/changes.h"
#include "operations/operations.h"
#include "people/people.h"
#include "services/idempotency_records.h"
#include "services/recovery.h"

struct object_owners {
    struct directory *directory;
    struct accounts *accounts;
    struct people *people;
    struct recoveries *recoveries;
    struct idempotency *idempotency;
    struct operations *operations;
};

enum object_moment {
    OBJECT_AT_START, /* as stored; before any other thread runs */
    OBJECT_CHANGED,  /* changed by another node; document absent: deleted. Control thread */
};

/* Passes one object to its owner. On failure *ret_why is a sentence, static or in the arena. */
MUST_CHECK bool object_give(const struct object_owners *owners, enum object_moment moment,
                            struct arena *arena, const struct object_part *object,
                            struct str *ret_why);
