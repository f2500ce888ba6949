/* What a person may do: a table of roles, each with the scopes that a key would need to do the same
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

/* The scopes of an operator's user who acts as a partner. */
#define SCOPES_ACTING (SCOPE_REPORTS_READ | SCOPE_CALLBACKS_READ | SCOPE_APPS_READ)

const char *role_name(enum role role);
bool role_is_operators(enum role role);
uint32_t role_scopes(enum role role);
/* The role's scopes that are missing in `scopes`. Whoever changes a person needs all scopes of that
 * person: people:write alone must not be enough to make an owner, or to get in as one. */
uint32_t role_scopes_beyond(enum role role, uint32_t scopes);
/* True for a role that nobody else could restore: an account keeps at least one enabled user with
 * it. */
bool role_is_needed(enum role role);
MUST_CHECK bool role_parse(struct str name, enum role *ret_role);
