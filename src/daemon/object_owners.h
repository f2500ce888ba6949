/* The parts of the daemon that own the objects which the store keeps. */
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
    OBJECT_AT_START, /* as the store has it; before any other thread runs */
    OBJECT_CHANGED,  /* as another node has left it; document absent: it is gone. Control thread */
};

/* Gives one object to its owner, which takes it in. On failure *ret_why is a sentence, static or in
 * the arena. */
MUST_CHECK bool object_give(const struct object_owners *owners, enum object_moment moment,
                            struct arena *arena, const struct object_part *object,
                            struct str *ret_why);
