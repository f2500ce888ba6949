/* The table itself. What stands here is routed, authorized, limited and documented; what does
 * not, does not exist. */
#include "api/route.h"

static const char *const p_events[] = {"deliver", NULL};
static const char *const p_list[] = {"limit", "after", NULL};
static const char *const p_callbacks[] = {"rewardId", "panelistId", "rewardType", "state", "appId",
                                          "from",     "to",         "limit",      "after", NULL};
static const char *const p_rewards[] = {"limit", "after", "day", NULL};
static const char *const p_statement[] = {"day", NULL};
static const char *const p_report[] = {"startDate", "endDate",     "clientIds",
                                       "format",    "includeTest", NULL};
static const char *const p_report_by_product[] = {
    "startDate", "endDate", "clientIds", "productType", "format", "includeTest", NULL};

/* The rate limit is on reads (contract, section 6). */
#define READ ROUTE_LIMITED
#define WRITE 0
#define OPERATOR_READ (ROUTE_LIMITED | ROUTE_OPERATOR)
#define OPERATOR_WRITE ROUTE_OPERATOR

const struct route api_routes[] = {
    {HTTP_POST, "/api/v1/events", SCOPE_EVENTS_WRITE, 0, SUBJECT_NONE, p_events, "Events",
     "EventsAnswer", 202, "Take events in: one object, an array or NDJSON.", events_post},

    {HTTP_GET, "/api/v1/reports/earnings", SCOPE_REPORTS_READ, READ, SUBJECT_ACCOUNT,
     p_report_by_product, NULL, "EarningsReport", 200, "USD earnings by Day and ClientId.",
     report_earnings},
    {HTTP_GET, "/api/v1/reports/arpdau", SCOPE_REPORTS_READ, READ, SUBJECT_ACCOUNT, p_report, NULL,
     "ArpdauReport", 200, "Average USD earnings per active panelist.", report_arpdau},
    {HTTP_GET, "/api/v1/reports/survey-attempts", SCOPE_REPORTS_READ, READ, SUBJECT_ACCOUNT,
     p_report, NULL, "SurveyAttemptsReport", 200, "Survey starts.", report_survey_attempts},
    {HTTP_GET, "/api/v1/reports/conversions", SCOPE_REPORTS_READ, READ, SUBJECT_ACCOUNT,
     p_report_by_product, NULL, "ConversionsReport", 200,
     "Payouts: events with Reward and RevenueAmount above zero.", report_conversions},
    {HTTP_GET, "/api/v1/reports/active-panelist", SCOPE_REPORTS_READ, READ, SUBJECT_ACCOUNT,
     p_report, NULL, "ActivePanelistReport", 200, "Distinct panelists with a survey start.",
     report_active_panelist},

    {HTTP_GET, "/api/v1/statements", SCOPE_REPORTS_READ, READ | ROUTE_QUERY_REQUIRED,
     SUBJECT_ACCOUNT, p_statement, NULL, "Statement", 200,
     "The books of one day, per app, with a digest to check one's own against.", statements_get},

    {HTTP_POST, "/api/v1/partners", SCOPE_ADMIN, OPERATOR_WRITE, SUBJECT_NONE, NULL,
     "PartnerCreate", "Partner", 201, "Create a partner.", partners_post},
    {HTTP_GET, "/api/v1/partners", SCOPE_ADMIN, OPERATOR_READ, SUBJECT_NONE, p_list, NULL,
     "PartnerList", 200, "List partners, newest first.", partners_list},
    {HTTP_GET, "/api/v1/partners/{PartnerId}", SCOPE_APPS_READ, READ, SUBJECT_PARTNER, NULL, NULL,
     "Partner", 200, "Read a partner.", partner_get},
    {HTTP_PATCH, "/api/v1/partners/{PartnerId}", SCOPE_APPS_WRITE, WRITE, SUBJECT_PARTNER, NULL,
     "PartnerPatch", "Partner", 200, "Change a partner (RFC 7396).", partner_patch},
    {HTTP_GET, "/api/v1/partners/{PartnerId}/operations-secret", SCOPE_APPS_WRITE, READ,
     SUBJECT_PARTNER, NULL, NULL, "OperationsSecret", 200,
     "Show the secret that messages to OperationsUrl are signed with; each showing is logged.",
     partner_operations_secret_get},
    {HTTP_POST, "/api/v1/partners/{PartnerId}/operations-secret/rotate", SCOPE_APPS_WRITE, WRITE,
     SUBJECT_PARTNER, NULL, NULL, "OperationsSecret", 200,
     "Make a new one; the one before stays live for 24 hours.", partner_operations_secret_rotate},
    {HTTP_POST, "/api/v1/partners/{PartnerId}/apps", SCOPE_APPS_WRITE, WRITE, SUBJECT_PARTNER, NULL,
     "AppCreate", "AppCreated", 201, "Create an app.", apps_post},
    {HTTP_GET, "/api/v1/partners/{PartnerId}/apps", SCOPE_APPS_READ, READ, SUBJECT_PARTNER, p_list,
     NULL, "AppList", 200, "List a partner's apps.", apps_list},
    {HTTP_POST, "/api/v1/partners/{PartnerId}/keys", SCOPE_KEYS_WRITE, WRITE, SUBJECT_PARTNER, NULL,
     "KeyCreate", "KeyCreated", 201, "Create an API key; its text is shown once.", keys_post},
    {HTTP_GET, "/api/v1/partners/{PartnerId}/keys", SCOPE_KEYS_WRITE, READ, SUBJECT_PARTNER, p_list,
     NULL, "KeyList", 200, "List a partner's keys.", keys_list},
    {HTTP_DELETE, "/api/v1/partners/{PartnerId}/keys/{KeyId}", SCOPE_KEYS_WRITE, WRITE, SUBJECT_KEY,
     NULL, NULL, NULL, 204, "Revoke a key.", key_delete},

    {HTTP_GET, "/api/v1/apps/{AppId}", SCOPE_APPS_READ, READ, SUBJECT_APP, NULL, NULL, "App", 200,
     "Read an app.", app_get},
    {HTTP_PATCH, "/api/v1/apps/{AppId}", SCOPE_APPS_WRITE, WRITE, SUBJECT_APP, NULL, "AppPatch",
     "App", 200, "Change an app (RFC 7396; null clears a URL).", app_patch},
    {HTTP_POST, "/api/v1/apps/{AppId}/clients", SCOPE_APPS_WRITE, WRITE, SUBJECT_APP, NULL,
     "ClientCreate", "Client", 201, "Create a client.", clients_post},
    {HTTP_GET, "/api/v1/apps/{AppId}/clients", SCOPE_APPS_READ, READ, SUBJECT_APP, p_list, NULL,
     "ClientList", 200, "List an app's clients.", clients_list},
    {HTTP_GET, "/api/v1/apps/{AppId}/secret", SCOPE_APPS_WRITE, READ, SUBJECT_APP, NULL, NULL,
     "Secret", 200, "Show the Callback Secret; each showing is logged.", app_secret_get},
    {HTTP_POST, "/api/v1/apps/{AppId}/secret/rotate", SCOPE_APPS_WRITE, WRITE | ROUTE_BODY_OPTIONAL,
     SUBJECT_APP, NULL, "SecretRotate", "Secret", 200, "Make a new Callback Secret.",
     app_secret_rotate},
    {HTTP_POST, "/api/v1/apps/{AppId}/test-callback", SCOPE_CALLBACKS_WRITE, WRITE, SUBJECT_APP,
     NULL, "TestCallback", "TestAttempt", 200, "Send one test callback and show the answer.",
     app_test_callback},
    {HTTP_POST, "/api/v1/apps/{AppId}/verify-callback", SCOPE_CALLBACKS_READ, WRITE, SUBJECT_APP,
     NULL, "VerifyCallback", "Verified", 200,
     "Judge a received body with the app's secrets: which signature matches, and if not, why.",
     app_verify_callback},
    {HTTP_GET, "/api/v1/apps/{AppId}/endpoints", SCOPE_CALLBACKS_READ, READ, SUBJECT_APP, NULL,
     NULL, "Endpoints", 200, "How the app's callback endpoints do.", app_endpoints},

    {HTTP_GET, "/api/v1/clients/{ClientId}", SCOPE_APPS_READ, READ, SUBJECT_CLIENT, NULL, NULL,
     "Client", 200, "Read a client.", client_get},
    {HTTP_PATCH, "/api/v1/clients/{ClientId}", SCOPE_APPS_WRITE, WRITE, SUBJECT_CLIENT, NULL,
     "ClientPatch", "Client", 200, "Change a client (RFC 7396).", client_patch},

    {HTTP_GET, "/api/v1/callbacks", SCOPE_CALLBACKS_READ, READ, SUBJECT_ACCOUNT, p_callbacks, NULL,
     "CallbackList", 200, "List callbacks, newest acceptance first.", callbacks_list},
    {HTTP_GET, "/api/v1/callbacks/{RewardId}", SCOPE_CALLBACKS_READ, READ, SUBJECT_REWARD, NULL,
     NULL, "Callback", 200, "Read a callback with every attempt.", callback_get_one},
    {HTTP_POST, "/api/v1/callbacks/{RewardId}/resend", SCOPE_CALLBACKS_WRITE, WRITE, SUBJECT_REWARD,
     NULL, NULL, "Resent", 202, "Send a callback again.", callback_resend},
    {HTTP_POST, "/api/v1/callbacks/recover", SCOPE_CALLBACKS_WRITE, WRITE, SUBJECT_ACCOUNT, NULL,
     "RecoveryCreate", "RecoveryCreated", 202, "Send many callbacks again, paced.",
     callbacks_recover},
    {HTTP_GET, "/api/v1/recoveries/{RecoveryId}", SCOPE_CALLBACKS_READ, READ, SUBJECT_RECOVERY,
     NULL, NULL, "Recovery", 200, "How far a recovery has come.", recovery_get},
    {HTTP_DELETE, "/api/v1/recoveries/{RecoveryId}", SCOPE_CALLBACKS_WRITE, WRITE, SUBJECT_RECOVERY,
     NULL, NULL, NULL, 204, "Stop and forget a recovery.", recovery_delete},
    {HTTP_GET, "/api/v1/rewards", SCOPE_CALLBACKS_READ, READ, SUBJECT_ACCOUNT, p_rewards, NULL,
     "RewardList", 200, "Every reward, oldest first, to repair any gap by pulling.", rewards_list},
    {HTTP_POST, "/api/v1/panelists/erase", SCOPE_CALLBACKS_WRITE, WRITE, SUBJECT_ACCOUNT, NULL,
     "PanelistErase", "PanelistErased", 200, "Erase a panelist's personal data.", panelist_erase},

    {HTTP_GET, "/healthz", 0, ROUTE_PUBLIC, SUBJECT_NONE, NULL, NULL, "Probe", 200,
     "The process answers.", probe_healthz},
    {HTTP_GET, "/readyz", 0, ROUTE_PUBLIC, SUBJECT_NONE, NULL, NULL, "Probe", 200,
     "The store is reachable and accepting.", probe_readyz},
    {HTTP_GET, "/metrics", 0, ROUTE_PUBLIC, SUBJECT_NONE, NULL, NULL, NULL, 200,
     "Prometheus metrics.", metrics_get},
    {HTTP_GET, "/openapi.json", 0, ROUTE_PUBLIC, SUBJECT_NONE, NULL, NULL, NULL, 200,
     "This description.", openapi_get},
};

const size_t api_route_count = ARRAY_LEN(api_routes);
