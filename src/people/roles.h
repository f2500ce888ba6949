/* What a person may do: one table of roles, each as the scopes that a key would need for it
 * (docs/people.md). */
#pragma once

#include "accounts/accounts.h"

enum role {
    ROLE_NONE,
    ROLE_OWNER,
    ROLE_DEVELOPER,
    ROLE_ANALYST,
    ROLE_ADMIN,   /* operator */
    ROLE_SUPPORT, /* operator */
};
#define ROLE_LAST ROLE_SUPPORT

/* What an operator's user keeps while acting as a partner. */
#define SCOPES_ACTING (SCOPE_REPORTS_READ | SCOPE_CALLBACKS_READ | SCOPE_APPS_READ)

const char *role_name(enum role role);
bool role_is_operators(enum role role);
uint32_t role_scopes(enum role role);
/* Those of the role that `scopes` lack. With people:write alone nobody may make an owner, nor get
 * in as one: whoever changes a person needs all that this person may do. */
uint32_t role_scopes_beyond(enum role role, uint32_t scopes);
/* The role whose loss nobody can mend: an account keeps at least one enabled user of it. */
bool role_is_needed(enum role role);
MUST_CHECK bool role_parse(struct str name, enum role *ret_role);
