/* Names on the wire of scopes, integrations and message formats, and the check of ids. */
#pragma once

#include "accounts/accounts.h"

struct scope_entry {
    const char *name;
    uint32_t bit;
};
extern const struct scope_entry scope_names[];
extern const size_t scope_count;

const char *scope_name(uint32_t bit);
/* The names of these scopes: "reports:read, apps:read". `to` is empty. */
void scopes_print(struct buf *to, uint32_t scopes);
MUST_CHECK bool scope_parse(struct str name, uint32_t *ret_bit);
const char *integration_name(enum integration integration);
MUST_CHECK bool integration_parse(struct str name, enum integration *ret_integration);
const char *operations_format_name(enum operations_format format);
MUST_CHECK bool operations_format_parse(struct str name, enum operations_format *ret_format);

/* PartnerId, AppId, ClientId, KeyId: [A-Za-z0-9_-]{1,64}. */
bool account_id_valid(struct str id);

/* "success", "failure", "offer": names of lanes, each with a URL field of the app. */
const char *lane_url_field(enum lane_kind kind);
