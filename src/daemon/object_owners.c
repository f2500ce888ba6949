/* Passes each kind of object to its owner. */
#include "daemon/object_owners.h"

static bool give_account(struct accounts *accounts, enum object_moment moment, struct arena *arena,
                         const struct object_part *o, struct str *ret_why)
{
    enum account_kind kind = (enum account_kind)o->kind;
    return moment == OBJECT_AT_START
               ? accounts_load(accounts, arena, kind, o->id, o->document, ret_why)
               : accounts_refresh(accounts, arena, kind, o->id, o->document, ret_why);
}

static bool give_person(struct people *people, enum object_moment moment, struct arena *arena,
                        const struct object_part *o, struct str *ret_why)
{
    return moment == OBJECT_AT_START
               ? people_load(people, arena, o->kind, o->id, o->document, ret_why)
               : people_refresh(people, arena, o->kind, o->id, o->document, ret_why);
}

static bool give_recovery(struct recoveries *recoveries, enum object_moment moment,
                          const struct object_part *o)
{
    if (moment == OBJECT_AT_START)
        return recoveries_load(recoveries, o->document);
    recoveries_refresh(recoveries, o->id, o->document);
    return true;
}

static bool give_notice(struct operations *operations, enum object_moment moment,
                        const struct object_part *o)
{
    if (moment == OBJECT_AT_START)
        return operations_load(operations, o->document);
    operations_refresh(operations, o->id, o->document);
    return true;
}

bool object_give(const struct object_owners *owners, enum object_moment moment, struct arena *arena,
                 const struct object_part *object, struct str *ret_why)
{
    *ret_why = STR("its document is damaged");
    switch (object->kind) {
    case OBJECT_PARTNER:
    case OBJECT_APP:
    case OBJECT_CLIENT:
    case OBJECT_KEY: return give_account(owners->accounts, moment, arena, object, ret_why);
    case OBJECT_USER:
    case OBJECT_SESSION: return give_person(owners->people, moment, arena, object, ret_why);
    case OBJECT_RECOVERY: return give_recovery(owners->recoveries, moment, object);
    case OBJECT_NOTICE: return give_notice(owners->operations, moment, object);
    case OBJECT_IDEMPOTENCY_KEY:
        return idempotency_refresh(owners->idempotency, object->id, object->document);
    case OBJECT_AUDIT:
    case OBJECT_MARK: break; /* never read from a store, unless its tables were edited */
    }
    *ret_why = STR("entries of this kind are not read here: has something else written it?");
    return false;
}
