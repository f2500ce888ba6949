/* The table of roles; docs/people.md has the same one. */
#include "people/roles.h"

struct role_entry {
    const char *name;
    bool is_operators, is_needed;
    uint32_t scopes;
};

#define READS (SCOPE_REPORTS_READ | SCOPE_CALLBACKS_READ | SCOPE_APPS_READ)

static const struct role_entry roles[ROLE_LAST + 1] = {
    [ROLE_OWNER] = {"owner", false, true, SCOPES_PARTNER},
    [ROLE_DEVELOPER] = {"developer", false, false, SCOPES_PARTNER & ~(uint32_t)SCOPE_PEOPLE_WRITE},
    [ROLE_ANALYST] = {"analyst", false, false, READS},
    [ROLE_ADMIN] = {"admin", true, true, SCOPES_ALL},
    [ROLE_SUPPORT] = {"support", true, false, READS | SCOPE_CALLBACKS_WRITE | SCOPE_AUDIT_READ},
};

static const struct role_entry *entry_of(enum role role)
{
    ASSERT(role > ROLE_NONE && role <= ROLE_LAST);
    return &roles[role];
}

const char *role_name(enum role role)
{
    return entry_of(role)->name;
}

bool role_is_operators(enum role role)
{
    return entry_of(role)->is_operators;
}

bool role_is_needed(enum role role)
{
    return entry_of(role)->is_needed;
}

uint32_t role_scopes(enum role role)
{
    return entry_of(role)->scopes;
}

uint32_t role_scopes_beyond(enum role role, uint32_t scopes)
{
    return scopes & SCOPE_ADMIN ? 0 : role_scopes(role) & ~scopes;
}

bool role_parse(struct str name, enum role *ret_role)
{
    for (enum role r = ROLE_OWNER; r <= ROLE_LAST; r++) {
        if (str_is(name, roles[r].name)) {
            *ret_role = r;
            return true;
        }
    }
    return false;
}
