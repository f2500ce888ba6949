/* The type of the table of routes (routes.c). Routing, Allow, authorization and /openapi.json all
 * come from this table. */
#pragma once

#include "api/call.h"

/* What the path's {Id} names. It is looked up, and checked against the caller's account, before the
 * rest of the request is judged. */
enum route_subject {
    SUBJECT_NONE,
    SUBJECT_ACCOUNT, /* the key's own account, or the operator's ?partnerId= */
    SUBJECT_PARTNER,
    SUBJECT_APP,
    SUBJECT_CLIENT,
    SUBJECT_KEY,    /* {PartnerId} and {KeyId} */
    SUBJECT_REWARD, /* within the account */
    SUBJECT_RECOVERY,
    SUBJECT_ACCOUNT_OR_OPERATOR, /* an operator without partnerId: the operator's side */
    SUBJECT_USER,                /* of that account or side */
};

enum {
    ROUTE_PUBLIC = 1,
    ROUTE_LIMITED = 2,
    ROUTE_OPERATOR = 4,
    ROUTE_BODY_OPTIONAL = 8,
    ROUTE_VERSIONED = 16, /* has an ETag: GET takes If-None-Match; PATCH, DELETE If-Match */
    ROUTE_PERSON = 32,    /* for the signed-in person: no key, any role */
    ROUTE_LONG = 64,      /* has LIMIT_LONG_ANSWER_DEADLINE_MS */
    ROUTE_PROBE = 128,    /* public, and answered even when crowded */
    ROUTE_SCAN = 256,     /* may read much; this and the next two: services/account_limits.h */
    ROUTE_TEST = 512,
    ROUTE_RECOVERY = 1024,
    ROUTE_PACKED = 2048,       /* has no secret: compressed for known clients */
    ROUTE_CONFLICT = 4096,     /* may answer 409 */
    ROUTE_NAMES_OTHERS = 8192, /* the body may name something unknown: 404 */
    ROUTE_OPEN_QUERY = 16384,  /* unknown parameters are ignored */
    ROUTE_MAKES = 32768,       /* creates something: takes Idempotency-Key */
    ROUTE_AUDITED = 65536,     /* a GET with an audit entry, so it counts as a change */
    ROUTE_FORWARD = 131072,    /* for reports of `postbackd listen` */
};

/* How /openapi.json groups the routes. */
enum route_tag {
    TAG_EVENTS,
    TAG_REPORTS,
    TAG_CALLBACKS,
    TAG_ENDPOINTS,
    TAG_APPS,
    TAG_PARTNERS,
    TAG_KEYS,
    TAG_PEOPLE,
    TAG_SESSIONS,
    TAG_OPERATION,
    TAG_WEBHOOKS, /* of openapi_webhooks.json only */
    TAG_COUNT,
};

/* A query parameter, and its name in openapi_components.json. */
struct route_parameter {
    const char *name, *component;
};

struct route {
    enum http_method method;
    const char *path; /* with {Name} segments */
    uint32_t scope;   /* 0 with ROUTE_PUBLIC */
    uint32_t flags;
    enum route_subject subject;
    const struct route_parameter *parameters; /* the last one without a name; NULL: none */
    const char *request_schema;               /* in openapi_components.json; NULL: no body */
    const char *response;                     /* a schema, or a media type of text; NULL: no body */
    int status;                               /* of success */
    enum route_tag tag;
    const char *id; /* the operationId: names the function in generated clients */
    const char *summary;
    void (*handle)(struct call *c);
};

extern const struct route api_routes[];
extern const size_t api_route_count;

/* The route of this method and path. NULL: *ret_path_known tells 404 from 405. ids: up to two
 * decoded path segments, in the arena. */
const struct route *route_find(struct arena *arena, enum http_method method, struct str path,
                               struct str ids[2], bool *ret_path_known);
/* For a path such as "/api/v1/apps": the table's path that ends with it after an id,
 * "/api/v1/partners/{PartnerId}/apps"; NULL: none. */
const char *route_below(struct str path);
/* "GET, HEAD, POST" for a known path. */
void route_print_allow(struct buf *to, struct str path);

/* Handlers, a file per noun. */
void events_post(struct call *c);
void events_list(struct call *c);
void partners_post(struct call *c);
void partners_list(struct call *c);
void earnings_list(struct call *c);
void partner_get(struct call *c);
void partner_patch(struct call *c);
void operator_operations_secret_get(struct call *c);
void partner_operations_secret_get(struct call *c);
void partner_operations_secret_rotate(struct call *c);
void apps_post(struct call *c);
void apps_list(struct call *c);
void app_get(struct call *c);
void app_patch(struct call *c);
void app_secret_get(struct call *c);
void app_secret_rotate(struct call *c);
void app_endpoint_enable(struct call *c);
void app_endpoints(struct call *c);
void account_endpoints(struct call *c);
void app_test_callback(struct call *c);
void app_verify_callback(struct call *c);
void clients_post(struct call *c);
void clients_list(struct call *c);
void client_get(struct call *c);
void client_patch(struct call *c);
void keys_post(struct call *c);
void keys_list(struct call *c);
void key_delete(struct call *c);
void callbacks_list(struct call *c);
void callback_get_one(struct call *c);
void callback_resend(struct call *c);
void callbacks_recover(struct call *c);
void recovery_get(struct call *c);
void recovery_delete(struct call *c);
void rewards_list(struct call *c);
void forwards_post(struct call *c);
void forwards_list(struct call *c);
void panelist_erase(struct call *c);
void statements_get(struct call *c);
void report_earnings(struct call *c);
void report_arpdau(struct call *c);
void report_intraday(struct call *c);
void delivery_statistics_get(struct call *c);
void report_survey_attempts(struct call *c);
void report_conversions(struct call *c);
void report_active_panelist(struct call *c);
void probe_healthz(struct call *c);
void probe_readyz(struct call *c);
void metrics_get(struct call *c);
void openapi_get(struct call *c);
void session_get(struct call *c);
void session_post(struct call *c);
void session_delete(struct call *c);
void sign_in_ways(struct call *c);
void sign_in_begin(struct call *c);
void sign_in_end(struct call *c);
void session_password(struct call *c);
void session_act_as(struct call *c);
void session_act_as_end(struct call *c);
void second_factor_begin(struct call *c);
void second_factor_confirm(struct call *c);
void second_factor_remove(struct call *c);
void second_factor_recovery(struct call *c);
void mail_preferences_get(struct call *c);
void mail_preferences_patch(struct call *c);
void passkeys_list(struct call *c);
void passkey_start(struct call *c);
void passkeys_post(struct call *c);
void passkey_delete(struct call *c);
void identity_get(struct call *c);
void identity_start(struct call *c);
void identity_post(struct call *c);
void identity_remove(struct call *c);
void passkey_sign_in_start(struct call *c);
void passkey_sign_in(struct call *c);
void sessions_list(struct call *c);
void session_end(struct call *c);
void link_check(struct call *c);
void link_request(struct call *c);
void link_use(struct call *c);
void users_post(struct call *c);
void users_list(struct call *c);
void user_get(struct call *c);
void user_patch(struct call *c);
void user_delete(struct call *c);
void user_link_post(struct call *c);
void user_factor_delete(struct call *c);
void user_identity_delete(struct call *c);
void user_sessions_list(struct call *c);
void user_sessions_delete(struct call *c);
void audit_list(struct call *c);
void live_get(struct call *c);
void system_get(struct call *c);
void search_get(struct call *c);
