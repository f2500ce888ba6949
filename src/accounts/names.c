/* Tables of names; see names.h. */
#include "accounts/names.h"

#include "base/limits.h"

const struct scope_entry scope_names[] = {
    {"reports:read", SCOPE_REPORTS_READ},
    {"callbacks:read", SCOPE_CALLBACKS_READ},
    {"callbacks:write", SCOPE_CALLBACKS_WRITE},
    {"panelists:erase", SCOPE_PANELISTS_ERASE},
    {"apps:read", SCOPE_APPS_READ},
    {"apps:write", SCOPE_APPS_WRITE},
    {"keys:write", SCOPE_KEYS_WRITE},
    {"events:write", SCOPE_EVENTS_WRITE},
    {"admin", SCOPE_ADMIN},
    {"people:write", SCOPE_PEOPLE_WRITE},
    {"audit:read", SCOPE_AUDIT_READ},
};
const size_t scope_count = ARRAY_LEN(scope_names);

const char *scope_name(uint32_t bit)
{
    for (size_t i = 0; i < scope_count; i++)
        if (scope_names[i].bit == bit)
            return scope_names[i].name;
    UNREACHABLE();
}

void scopes_print(struct buf *to, uint32_t scopes)
{
    for (size_t i = 0; i < scope_count; i++)
        if (scopes & scope_names[i].bit)
            buf_add_name(to, str_of(scope_names[i].name));
}

static const char *const integrations[] = {
    [INTEGRATION_SDK] = "sdk",
    [INTEGRATION_IFRAME] = "iframe",
    [INTEGRATION_MONETIZATION_API] = "monetization_api",
};

static const char *const operations_formats[] = {
    [OPERATIONS_STANDARD] = "standard",
    [OPERATIONS_SLACK] = "slack",
    [OPERATIONS_TEAMS] = "teams",
    [OPERATIONS_DISCORD] = "discord",
};

static const char *const url_fields[LANE_KINDS] = {
    [LANE_SUCCESS] = "SuccessCallbackUrl",
    [LANE_FAILURE] = "FailureCallbackUrl",
    [LANE_OFFER] = "OfferCallbackUrl",
    [LANE_TEST] = "TestCallbackUrl",
};

bool scope_parse(struct str name, uint32_t *ret_bit)
{
    for (size_t i = 0; i < scope_count; i++) {
        if (str_is(name, scope_names[i].name)) {
            *ret_bit = scope_names[i].bit;
            return true;
        }
    }
    return false;
}

const char *integration_name(enum integration integration)
{
    ASSERT(integration >= INTEGRATION_SDK && integration <= INTEGRATION_MONETIZATION_API);
    return integrations[integration];
}

bool integration_parse(struct str name, enum integration *ret_integration)
{
    size_t found = str_index_of(name, integrations, ARRAY_LEN(integrations));
    if (found == ARRAY_LEN(integrations))
        return false;
    *ret_integration = (enum integration)found;
    return true;
}

const char *operations_format_name(enum operations_format format)
{
    ASSERT(format <= OPERATIONS_DISCORD);
    return operations_formats[format];
}

bool operations_format_parse(struct str name, enum operations_format *ret_format)
{
    size_t found = str_index_of(name, operations_formats, ARRAY_LEN(operations_formats));
    if (found == ARRAY_LEN(operations_formats))
        return false;
    *ret_format = (enum operations_format)found;
    return true;
}

bool account_id_valid(struct str id)
{
    if (!id.p || id.n < 1 || id.n > LIMIT_ID_BYTES)
        return false;
    for (size_t i = 0; i < id.n; i++)
        if (!char_is_letter_or_digit(id.p[i]) && id.p[i] != '_' && id.p[i] != '-')
            return false;
    return true;
}

const char *lane_url_field(enum lane_kind kind)
{
    ASSERT(kind > LANE_NONE && kind < LANE_KINDS);
    return url_fields[kind];
}
