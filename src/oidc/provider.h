/* Reads the file of --sign-in-file: which identity providers people may sign in with, and which
 * role each group gives (docs/operators/sign-in.md). */
#pragma once

#include "people/roles.h"

#define PROVIDERS_MOST 32
#define PROVIDER_KEY_BYTES 22

struct provider_group {
    struct str group;
    enum role role;
};

struct provider {
    struct str name, issuer, client_id, scopes, groups_claim;
    struct str client_secret; /* absent: a public client */
    struct str partner_id;    /* the partner whose people use it; absent: the operator's people */
    bool passwords;           /* true: those people may sign in by password, too */
    struct provider_group *groups;
    size_t group_count;
    char key[PROVIDER_KEY_BYTES + 1]; /* names it while somebody signs in */
};

/* Texts are the arena's. */
struct providers {
    struct arena arena;
    struct provider *list;
    size_t count;
    bool passwords; /* false: nobody signs in by password */
};

/* False: *ret_why (malloc'ed) names the file, the provider and the member. Free what was read in
 * both cases. */
MUST_CHECK bool providers_read(struct providers *ret, const char *file, char **ret_why);
/* The same from the file's text; opens other files for secrets. */
MUST_CHECK bool providers_parse(struct providers *ret, struct str text, char **ret_why);
void providers_free(struct providers *p); /* wipes the secrets */

/* The role of the first group, in the file's order, that the person is in; ROLE_NONE: none. */
struct json;
enum role provider_role(const struct provider *p, const struct json *groups);
