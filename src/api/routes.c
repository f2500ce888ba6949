/* The table itself. What stands here is routed, authorized, limited and documented; what does
 * not, does not exist. */
#include "api/route.h"

#define P(name)                                                                                    \
    {                                                                                              \
        name, "query." name                                                                        \
    }

static const struct route_parameter p_events[] = {P("deliver"), {0}};
static const struct route_parameter p_list[] = {P("limit"), P("after"), {0}};
static const struct route_parameter p_callbacks[] = {
    P("rewardId"), P("panelistId"), P("rewardType"), P("state"),  P("appId"), P("from"),  P("to"),
    P("class"),    P("status"),     P("bodies"),     P("format"), P("limit"), P("after"), {0}};
static const struct route_parameter p_forwards[] = {P("rewardId"), {0}};
static const struct route_parameter p_rewards[] = {
    P("appId"), P("attempts"), P("limit"), P("after"), {"day", "query.feedDay"}, P("format"), {0}};
static const struct route_parameter p_earnings[] = {
    P("startDate"), P("endDate"), P("limit"), P("after"), {0}};
static const struct route_parameter p_search[] = {P("text"), P("after"), {0}};
static const struct route_parameter p_day[] = {P("day"), {0}};
static const struct route_parameter p_statement[] = {P("day"), P("appId"), {0}};
static const struct route_parameter p_period[] = {P("period"), {0}};
static const struct route_parameter p_endpoint_period[] = {P("period"), P("endpoint"), {0}};
static const struct route_parameter p_report[] = {P("startDate"), P("endDate"),     P("clientIds"),
                                                  P("format"),    P("includeTest"), {0}};
static const struct route_parameter p_sign_in[] = {{"code", "query.signInCode"},
                                                   {"state", "query.signInState"},
                                                   {"iss", "query.signInIssuer"},
                                                   {"error", "query.signInError"},
                                                   {0}};
static const struct route_parameter p_users[] = {P("email"), P("limit"), P("after"), {0}};
static const struct route_parameter p_audit[] = {P("from"),   P("to"),    P("action"), P("actor"),
                                                 P("object"), P("limit"), P("after"),  {0}};
static const struct route_parameter p_report_by_product[] = {
    P("startDate"),   P("endDate"), P("clientIds"), P("productType"), P("format"),
    P("includeTest"), {0}};

/* The rate limit is on reads (contract, section 6). */
#define READ ROUTE_LIMITED
#define SCAN (ROUTE_LIMITED | ROUTE_SCAN)
#define WRITE 0
#define PACKED ROUTE_PACKED
#define CONFLICT ROUTE_CONFLICT
#define VERSIONED ROUTE_VERSIONED
#define OPERATOR_READ (ROUTE_LIMITED | ROUTE_OPERATOR)
#define OPERATOR_WRITE ROUTE_OPERATOR

const struct route api_routes[] = {
    {HTTP_POST, "/api/v1/events", SCOPE_EVENTS_WRITE, 0, SUBJECT_NONE, p_events, "Events",
     "EventsAnswer", 202, TAG_EVENTS, "reportEvents",
     "Report events: one object, an array or NDJSON.", events_post},

    {HTTP_GET, "/api/v1/reports/earnings", SCOPE_REPORTS_READ, SCAN | PACKED, SUBJECT_ACCOUNT,
     p_report_by_product, NULL, "EarningsReport", 200, TAG_REPORTS, "getEarningsReport",
     "USD earnings by Day and ClientId.", report_earnings},
    {HTTP_GET, "/api/v1/reports/arpdau", SCOPE_REPORTS_READ, SCAN | PACKED, SUBJECT_ACCOUNT,
     p_report_by_product, NULL, "ArpdauReport", 200, TAG_REPORTS, "getArpdauReport",
     "Average USD earnings per active panelist.", report_arpdau},
    {HTTP_GET, "/api/v1/reports/survey-attempts", SCOPE_REPORTS_READ, SCAN | PACKED,
     SUBJECT_ACCOUNT, p_report, NULL, "SurveyAttemptsReport", 200, TAG_REPORTS,
     "getSurveyAttemptsReport", "Survey starts.", report_survey_attempts},
    {HTTP_GET, "/api/v1/reports/conversions", SCOPE_REPORTS_READ, SCAN | PACKED, SUBJECT_ACCOUNT,
     p_report_by_product, NULL, "ConversionsReport", 200, TAG_REPORTS, "getConversionsReport",
     "Payouts: events with Reward and RevenueAmount above zero.", report_conversions},
    {HTTP_GET, "/api/v1/reports/active-panelist", SCOPE_REPORTS_READ, SCAN | PACKED,
     SUBJECT_ACCOUNT, p_report, NULL, "ActivePanelistReport", 200, TAG_REPORTS,
     "getActivePanelistReport", "Distinct panelists with a survey start.", report_active_panelist},

    {HTTP_GET, "/api/v1/intraday", SCOPE_REPORTS_READ, SCAN | PACKED, SUBJECT_ACCOUNT, p_day, NULL,
     "IntradayReport", 200, TAG_REPORTS, "getIntradayReport",
     "One of the last days in quarters of an hour.", report_intraday},

    {HTTP_GET, "/api/v1/statements", SCOPE_REPORTS_READ, SCAN | PACKED, SUBJECT_ACCOUNT,
     p_statement, NULL, "Statement", 200, TAG_REPORTS, "getStatement",
     "Statement of one day, per app, with a digest to check your own records.", statements_get},

    {HTTP_POST, "/api/v1/partners", SCOPE_ADMIN, OPERATOR_WRITE | CONFLICT | VERSIONED,
     SUBJECT_NONE, NULL, "PartnerCreate", "Partner", 201, TAG_PARTNERS, "createPartner",
     "Create a partner.", partners_post},
    {HTTP_GET, "/api/v1/partners", SCOPE_APPS_READ, OPERATOR_READ, SUBJECT_NONE, p_list, NULL,
     "PartnerList", 200, TAG_PARTNERS, "listPartners", "List partners, newest first.",
     partners_list},
    {HTTP_GET, "/api/v1/earnings", SCOPE_REPORTS_READ, OPERATOR_READ | ROUTE_SCAN | PACKED,
     SUBJECT_NONE, p_earnings, NULL, "PartnerEarningsList", 200, TAG_REPORTS, "listPartnerEarnings",
     "Earnings of each partner, newest partner first.", earnings_list},
    {HTTP_GET, "/api/v1/partners/{PartnerId}", SCOPE_APPS_READ, READ | VERSIONED, SUBJECT_PARTNER,
     NULL, NULL, "Partner", 200, TAG_PARTNERS, "getPartner", "Read a partner.", partner_get},
    {HTTP_PATCH, "/api/v1/partners/{PartnerId}", SCOPE_APPS_WRITE, VERSIONED, SUBJECT_PARTNER, NULL,
     "PartnerPatch", "Partner", 200, TAG_PARTNERS, "changePartner", "Change a partner (RFC 7396).",
     partner_patch},
    {HTTP_GET, "/api/v1/operations-secret", SCOPE_ADMIN, OPERATOR_READ, SUBJECT_NONE, NULL, NULL,
     "OperationsSecret", 200, TAG_OPERATION, "getOperatorOperationsSecret",
     "Show the secret that signs messages to --operations-url.", operator_operations_secret_get},
    {HTTP_GET, "/api/v1/partners/{PartnerId}/operations-secret", SCOPE_APPS_WRITE, READ,
     SUBJECT_PARTNER, NULL, NULL, "OperationsSecret", 200, TAG_PARTNERS, "getOperationsSecret",
     "Show the secret that signs messages to OperationsUrl; recorded in the audit log.",
     partner_operations_secret_get},
    {HTTP_POST, "/api/v1/partners/{PartnerId}/operations-secret/rotate", SCOPE_APPS_WRITE,
     CONFLICT | ROUTE_BODY_OPTIONAL, SUBJECT_PARTNER, NULL, "OperationsSecretRotate",
     "OperationsSecret", 200, TAG_PARTNERS, "rotateOperationsSecret",
     "Rotate it; the previous one stays valid for an overlap, by default 24 hours.",
     partner_operations_secret_rotate},
    {HTTP_POST, "/api/v1/partners/{PartnerId}/apps", SCOPE_APPS_WRITE, CONFLICT | VERSIONED,
     SUBJECT_PARTNER, NULL, "AppCreate", "AppCreated", 201, TAG_APPS, "createApp", "Create an app.",
     apps_post},
    {HTTP_GET, "/api/v1/partners/{PartnerId}/apps", SCOPE_APPS_READ, READ, SUBJECT_PARTNER, p_list,
     NULL, "AppList", 200, TAG_APPS, "listApps", "List a partner's apps.", apps_list},
    {HTTP_POST, "/api/v1/partners/{PartnerId}/keys", SCOPE_KEYS_WRITE, CONFLICT | VERSIONED,
     SUBJECT_PARTNER, NULL, "KeyCreate", "KeyCreated", 201, TAG_KEYS, "createKey",
     "Create an API key; its text is shown once.", keys_post},
    {HTTP_GET, "/api/v1/partners/{PartnerId}/keys", SCOPE_KEYS_WRITE, READ, SUBJECT_PARTNER, p_list,
     NULL, "KeyList", 200, TAG_KEYS, "listKeys", "List a partner's keys.", keys_list},
    {HTTP_DELETE, "/api/v1/partners/{PartnerId}/keys/{KeyId}", SCOPE_KEYS_WRITE, WRITE, SUBJECT_KEY,
     NULL, NULL, NULL, 204, TAG_KEYS, "revokeKey", "Revoke a key.", key_delete},

    {HTTP_GET, "/api/v1/apps/{AppId}", SCOPE_APPS_READ, READ | VERSIONED, SUBJECT_APP, NULL, NULL,
     "App", 200, TAG_APPS, "getApp", "Read an app.", app_get},
    {HTTP_PATCH, "/api/v1/apps/{AppId}", SCOPE_APPS_WRITE, VERSIONED, SUBJECT_APP, NULL, "AppPatch",
     "App", 200, TAG_APPS, "changeApp", "Change an app (RFC 7396; null clears a URL).", app_patch},
    {HTTP_POST, "/api/v1/apps/{AppId}/clients", SCOPE_APPS_WRITE, CONFLICT | VERSIONED, SUBJECT_APP,
     NULL, "AppClientCreate", "AppClient", 201, TAG_APPS, "createClient", "Create a client.",
     clients_post},
    {HTTP_GET, "/api/v1/apps/{AppId}/clients", SCOPE_APPS_READ, READ | PACKED, SUBJECT_APP, p_list,
     NULL, "AppClientList", 200, TAG_APPS, "listClients", "List an app's clients.", clients_list},
    {HTTP_GET, "/api/v1/apps/{AppId}/secret", SCOPE_APPS_WRITE, READ, SUBJECT_APP, NULL, NULL,
     "Secret", 200, TAG_APPS, "getSecret", "Show the Callback Secret; recorded in the audit log.",
     app_secret_get},
    {HTTP_POST, "/api/v1/apps/{AppId}/secret/rotate", SCOPE_APPS_WRITE,
     WRITE | ROUTE_BODY_OPTIONAL | CONFLICT, SUBJECT_APP, NULL, "SecretRotate", "Secret", 200,
     TAG_APPS, "rotateSecret", "Rotate the Callback Secret.", app_secret_rotate},
    {HTTP_POST, "/api/v1/apps/{AppId}/test-callback", SCOPE_CALLBACKS_WRITE,
     WRITE | ROUTE_LONG | ROUTE_TEST, SUBJECT_APP, NULL, "TestCallback", "TestAttempt", 200,
     TAG_ENDPOINTS, "sendTestCallback", "Send one test callback and show the answer.",
     app_test_callback},
    {HTTP_POST, "/api/v1/apps/{AppId}/verify-callback", SCOPE_CALLBACKS_READ, WRITE, SUBJECT_APP,
     NULL, "VerifyCallback", "Verified", 200, TAG_ENDPOINTS, "verifyCallback",
     "Verify a received body with the app's secrets: which signatures match and, if not, why.",
     app_verify_callback},
    {HTTP_GET, "/api/v1/apps/{AppId}/endpoints", SCOPE_CALLBACKS_READ, READ, SUBJECT_APP, NULL,
     NULL, "Endpoints", 200, TAG_ENDPOINTS, "listEndpoints",
     "Health of the app's callback endpoints.", app_endpoints},
    {HTTP_POST, "/api/v1/apps/{AppId}/endpoints/{Endpoint}/enable", SCOPE_APPS_WRITE, WRITE,
     SUBJECT_APP, NULL, NULL, "App", 200, TAG_ENDPOINTS, "enableEndpoint",
     "Enable an endpoint (success, failure, offer) that was disabled by 410s.",
     app_endpoint_enable},

    {HTTP_GET, "/api/v1/apps/{AppId}/delivery-statistics", SCOPE_CALLBACKS_READ, READ, SUBJECT_APP,
     p_endpoint_period, NULL, "DeliveryStatistics", 200, TAG_ENDPOINTS, "getAppDeliveryStatistics",
     "Attempts of the app, or of one endpoint: successes, failures by class, latency.",
     delivery_statistics_get},
    {HTTP_GET, "/api/v1/delivery-statistics", SCOPE_CALLBACKS_READ, READ, SUBJECT_ACCOUNT, p_period,
     NULL, "DeliveryStatistics", 200, TAG_ENDPOINTS, "getDeliveryStatistics",
     "Attempts of the account: successes, failures by class, latency.", delivery_statistics_get},

    {HTTP_GET, "/api/v1/endpoints", SCOPE_CALLBACKS_READ, READ, SUBJECT_SIDE, NULL, NULL,
     "AccountEndpoints", 200, TAG_ENDPOINTS, "listAccountEndpoints",
     "Health of all callback endpoints of the account: counts, and details of those that are not "
     "healthy.",
     account_endpoints},

    {HTTP_GET, "/api/v1/clients/{ClientId}", SCOPE_APPS_READ, READ | VERSIONED, SUBJECT_CLIENT,
     NULL, NULL, "AppClient", 200, TAG_APPS, "getClient", "Read a client.", client_get},
    {HTTP_PATCH, "/api/v1/clients/{ClientId}", SCOPE_APPS_WRITE, VERSIONED, SUBJECT_CLIENT, NULL,
     "AppClientPatch", "AppClient", 200, TAG_APPS, "changeClient", "Change a client (RFC 7396).",
     client_patch},

    {HTTP_GET, "/api/v1/callbacks", SCOPE_CALLBACKS_READ, SCAN | PACKED, SUBJECT_SIDE, p_callbacks,
     NULL, "CallbackList", 200, TAG_CALLBACKS, "listCallbacks",
     "List callbacks, newest acceptance first; of all partners, for operators without partnerId.",
     callbacks_list},
    {HTTP_GET, "/api/v1/callbacks/{RewardId}", SCOPE_CALLBACKS_READ, READ, SUBJECT_REWARD, NULL,
     NULL, "Callback", 200, TAG_CALLBACKS, "getCallback", "Read a callback with every attempt.",
     callback_get_one},
    {HTTP_POST, "/api/v1/callbacks/{RewardId}/resend", SCOPE_CALLBACKS_WRITE, CONFLICT,
     SUBJECT_REWARD, NULL, NULL, "Resent", 202, TAG_CALLBACKS, "resendCallback",
     "Resend a callback; 409 if its body is no longer stored.", callback_resend},
    {HTTP_POST, "/api/v1/callbacks/recover", SCOPE_CALLBACKS_WRITE,
     WRITE | ROUTE_LONG | ROUTE_RECOVERY | CONFLICT, SUBJECT_ACCOUNT, NULL, "RecoveryCreate",
     "RecoveryCreated", 202, TAG_CALLBACKS, "createRecovery",
     "Resend many callbacks, at a limited rate.", callbacks_recover},
    {HTTP_GET, "/api/v1/recoveries/{RecoveryId}", SCOPE_CALLBACKS_READ, READ, SUBJECT_RECOVERY,
     NULL, NULL, "Recovery", 200, TAG_CALLBACKS, "getRecovery", "Progress of a recovery.",
     recovery_get},
    {HTTP_DELETE, "/api/v1/recoveries/{RecoveryId}", SCOPE_CALLBACKS_WRITE, WRITE, SUBJECT_RECOVERY,
     NULL, NULL, NULL, 204, TAG_CALLBACKS, "deleteRecovery", "Stop and delete a recovery.",
     recovery_delete},
    {HTTP_GET, "/api/v1/rewards", SCOPE_CALLBACKS_READ, SCAN | PACKED, SUBJECT_ACCOUNT, p_rewards,
     NULL, "RewardList", 200, TAG_CALLBACKS, "listRewards",
     "List all rewards, oldest first, to fill gaps by polling.", rewards_list},
    {HTTP_POST, "/api/v1/forwards", SCOPE_APPS_WRITE, WRITE, SUBJECT_ACCOUNT, NULL, "ForwardCreate",
     NULL, 204, TAG_CALLBACKS, "reportForward",
     "Report what a server answered to a callback forwarded by postbackd listen.", forwards_post},
    {HTTP_GET, "/api/v1/forwards", SCOPE_CALLBACKS_READ, READ, SUBJECT_ACCOUNT, p_forwards, NULL,
     "ForwardList", 200, TAG_CALLBACKS, "listForwards",
     "Read the latest answers to forwarded callbacks, newest first.", forwards_list},
    {HTTP_POST, "/api/v1/panelists/erase", SCOPE_PANELISTS_ERASE, WRITE | ROUTE_LONG,
     SUBJECT_ACCOUNT, NULL, "PanelistErase", "PanelistErased", 200, TAG_PARTNERS, "erasePanelist",
     "Erase a panelist's personal data.", panelist_erase},

    {HTTP_GET, "/api/v1/session", 0, ROUTE_PUBLIC, SUBJECT_NONE, NULL, NULL, "Session", 200,
     TAG_SESSIONS, "getSession", "Show who is signed in; also 200 without a session.", session_get},
    {HTTP_POST, "/api/v1/session", 0, ROUTE_PUBLIC, SUBJECT_NONE, NULL, "SignIn", "Session", 200,
     TAG_SESSIONS, "signIn", "Sign in.", session_post},
    {HTTP_GET, "/api/v1/sign-in", 0, ROUTE_PUBLIC, SUBJECT_NONE, NULL, NULL, "SignInWays", 200,
     TAG_SESSIONS, "listSignInWays", "List the ways to sign in.", sign_in_ways},
    {HTTP_GET, "/api/v1/sign-in/{Provider}", 0, ROUTE_PUBLIC, SUBJECT_NONE, NULL, NULL, NULL, 303,
     TAG_SESSIONS, "startProviderSignIn", "For a browser: go to an identity provider to sign in.",
     sign_in_begin},
    {HTTP_GET, "/api/v1/sign-in/callback", 0, ROUTE_PUBLIC | ROUTE_OPEN_QUERY, SUBJECT_NONE,
     p_sign_in, NULL, NULL, 303, TAG_SESSIONS, "endProviderSignIn",
     "For a browser: come back from an identity provider.", sign_in_end},
    {HTTP_DELETE, "/api/v1/session", 0, ROUTE_PERSON, SUBJECT_NONE, NULL, NULL, NULL, 204,
     TAG_SESSIONS, "signOut", "Sign out.", session_delete},
    {HTTP_POST, "/api/v1/session/password", 0, ROUTE_PERSON | CONFLICT, SUBJECT_NONE, NULL,
     "PasswordChange", "Session", 200, TAG_SESSIONS, "changePassword",
     "Change your password; all other sessions end.", session_password},
    {HTTP_POST, "/api/v1/session/second-factor", 0, ROUTE_PERSON | CONFLICT, SUBJECT_NONE, NULL,
     "SecondFactorBegin", "SecondFactor", 200, TAG_SESSIONS, "startSecondFactor",
     "Start a second factor; confirm turns it on.", second_factor_begin},
    {HTTP_POST, "/api/v1/session/second-factor/confirm", 0, ROUTE_PERSON | CONFLICT, SUBJECT_NONE,
     NULL, "SecondFactorConfirm", "RecoveryCodes", 200, TAG_SESSIONS, "confirmSecondFactor",
     "Turn the second factor on by its first code; all other sessions end.", second_factor_confirm},
    {HTTP_POST, "/api/v1/session/second-factor/remove", 0, ROUTE_PERSON | CONFLICT, SUBJECT_NONE,
     NULL, "SecondFactorProof", "Session", 200, TAG_SESSIONS, "removeSecondFactor",
     "Turn off the second factor.", second_factor_remove},
    {HTTP_POST, "/api/v1/session/second-factor/recovery-codes", 0, ROUTE_PERSON | CONFLICT,
     SUBJECT_NONE, NULL, "SecondFactorProof", "RecoveryCodes", 200, TAG_SESSIONS,
     "createRecoveryCodes", "Create new recovery codes; the old ones stop working.",
     second_factor_recovery},
    {HTTP_POST, "/api/v1/session/act-as", 0, ROUTE_PERSON, SUBJECT_NONE, NULL, "ActAs", "Session",
     200, TAG_SESSIONS, "actAs",
     "View a partner's account as the partner, read-only; for operators.", session_act_as},
    {HTTP_DELETE, "/api/v1/session/act-as", 0, ROUTE_PERSON | CONFLICT, SUBJECT_NONE, NULL, NULL,
     "Session", 200, TAG_SESSIONS, "stopActingAs", "Stop acting as a partner.", session_act_as_end},
    {HTTP_GET, "/api/v1/sessions", 0, ROUTE_PERSON | ROUTE_LIMITED, SUBJECT_NONE, NULL, NULL,
     "SessionList", 200, TAG_SESSIONS, "listSessions", "List your sessions.", sessions_list},
    {HTTP_DELETE, "/api/v1/sessions/{SessionId}", 0, ROUTE_PERSON, SUBJECT_NONE, NULL, NULL, NULL,
     204, TAG_SESSIONS, "endSession", "End one of your sessions.", session_end},
    {HTTP_POST, "/api/v1/links/check", 0, ROUTE_PUBLIC | ROUTE_NAMES_OTHERS, SUBJECT_NONE, NULL,
     "LinkCheck", "Link", 200, TAG_SESSIONS, "checkLink", "What a one-time link is for.",
     link_check},
    {HTTP_POST, "/api/v1/links/request", 0, ROUTE_PUBLIC | CONFLICT, SUBJECT_NONE, NULL,
     "LinkRequest", NULL, 202, TAG_SESSIONS, "requestLink",
     "Ask for an e-mail with a link to choose a new password.", link_request},
    {HTTP_POST, "/api/v1/links/use", 0, ROUTE_PUBLIC | CONFLICT | ROUTE_NAMES_OTHERS, SUBJECT_NONE,
     NULL, "LinkUse", "Session", 200, TAG_SESSIONS, "useLink",
     "Set a password by a one-time link, and sign in.", link_use},

    {HTTP_POST, "/api/v1/users", SCOPE_PEOPLE_WRITE, CONFLICT | VERSIONED, SUBJECT_SIDE, NULL,
     "UserCreate", "UserCreated", 201, TAG_PEOPLE, "inviteUser",
     "Invite a person; the link is shown once.", users_post},
    {HTTP_GET, "/api/v1/users", SCOPE_PEOPLE_WRITE, READ, SUBJECT_SIDE, p_users, NULL, "UserList",
     200, TAG_PEOPLE, "listUsers", "List the people of an account.", users_list},
    {HTTP_GET, "/api/v1/users/{UserId}", SCOPE_PEOPLE_WRITE, READ | VERSIONED, SUBJECT_USER, NULL,
     NULL, "User", 200, TAG_PEOPLE, "getUser", "Read a user.", user_get},
    {HTTP_PATCH, "/api/v1/users/{UserId}", SCOPE_PEOPLE_WRITE, CONFLICT | VERSIONED, SUBJECT_USER,
     NULL, "UserPatch", "User", 200, TAG_PEOPLE, "changeUser", "Change a user (RFC 7396).",
     user_patch},
    {HTTP_DELETE, "/api/v1/users/{UserId}", SCOPE_PEOPLE_WRITE, CONFLICT, SUBJECT_USER, NULL, NULL,
     NULL, 204, TAG_PEOPLE, "removeUser", "Remove a user and end all sessions.", user_delete},
    {HTTP_POST, "/api/v1/users/{UserId}/link", SCOPE_PEOPLE_WRITE, CONFLICT, SUBJECT_USER, NULL,
     NULL, "UserLink", 200, TAG_PEOPLE, "createUserLink",
     "Create a new one-time link, which is shown once.", user_link_post},
    {HTTP_DELETE, "/api/v1/users/{UserId}/second-factor", SCOPE_PEOPLE_WRITE, WRITE, SUBJECT_USER,
     NULL, NULL, NULL, 204, TAG_PEOPLE, "removeUserSecondFactor",
     "Turn off the second factor of a person who lost it.", user_factor_delete},
    {HTTP_GET, "/api/v1/users/{UserId}/sessions", SCOPE_PEOPLE_WRITE, READ, SUBJECT_USER, NULL,
     NULL, "SessionList", 200, TAG_PEOPLE, "listUserSessions", "List a user's sessions.",
     user_sessions_list},
    {HTTP_DELETE, "/api/v1/users/{UserId}/sessions", SCOPE_PEOPLE_WRITE, WRITE, SUBJECT_USER, NULL,
     NULL, NULL, 204, TAG_PEOPLE, "endUserSessions", "End all of a user's sessions.",
     user_sessions_delete},
    {HTTP_GET, "/api/v1/audit", SCOPE_AUDIT_READ, SCAN, SUBJECT_SIDE, p_audit, NULL, "AuditList",
     200, TAG_PEOPLE, "listAuditEntries", "List changes and sign-ins, newest first.", audit_list},
    {HTTP_GET, "/api/v1/system", SCOPE_ADMIN, OPERATOR_READ, SUBJECT_NONE, NULL, NULL, "System",
     200, TAG_OPERATION, "getSystem",
     "State of the installation: backlog, limits and the worst endpoints.", system_get},

    {HTTP_GET, "/api/v1/search", SCOPE_CALLBACKS_READ, OPERATOR_READ | ROUTE_SCAN, SUBJECT_NONE,
     p_search, NULL, "Found", 200, TAG_OPERATION, "search",
     "Find a partner, app, client, user, callback or panelist by its whole id, in all accounts.",
     search_get},

    {HTTP_GET, "/api/v1/live", SCOPE_CALLBACKS_READ, READ, SUBJECT_SIDE, NULL, NULL,
     "text/event-stream", 200, TAG_CALLBACKS, "streamOutcomes",
     "Server-sent events about new outcomes, once a second.", live_get},

    {HTTP_GET, "/healthz", 0, ROUTE_PUBLIC | ROUTE_PROBE, SUBJECT_NONE, NULL, NULL, "Probe", 200,
     TAG_OPERATION, "checkHealth", "The process answers.", probe_healthz},
    {HTTP_GET, "/readyz", 0, ROUTE_PUBLIC | ROUTE_PROBE, SUBJECT_NONE, NULL, NULL, "Probe", 200,
     TAG_OPERATION, "checkReadiness", "The store is reachable and accepting.", probe_readyz},
    {HTTP_GET, "/metrics", 0, ROUTE_PUBLIC | ROUTE_PROBE, SUBJECT_NONE, NULL, NULL, "text/plain",
     200, TAG_OPERATION, "getMetrics", "Prometheus metrics.", metrics_get},
    {HTTP_GET, "/openapi.json", 0, ROUTE_PUBLIC, SUBJECT_NONE, NULL, NULL, "Description", 200,
     TAG_OPERATION, "getDescription", "This description.", openapi_get},
};

const size_t api_route_count = ARRAY_LEN(api_routes);
