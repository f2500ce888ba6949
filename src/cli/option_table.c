/* The only table of options, for the parsers, the help and the manual page. OPTION_IS_RELOADED:
 * SIGHUP changes it. After the table: differences for some commands. */
#include "cli/option.h"

#include "base/buf.h"
#include "domain/schedule.h"
#include "store/store_open.h"

#include <ctype.h>

#define NODE_NAME_SIZE NUMBER_AS_TEXT(NODE_NAME_BYTES)
#define OPERATOR_KEY_SIZE                                                                          \
    NUMBER_AS_TEXT(OPERATOR_KEY_BYTES_LEAST) " to " NUMBER_AS_TEXT(OPERATOR_KEY_BYTES_MOST)

#define S (COMMAND_SERVE | COMMAND_CHECK)
#define D COMMAND_DEMO
/* For clients of a running server: client_open_server. */
#define CLIENTS                                                                                    \
    (COMMAND_IMPORT | COMMAND_EXPORT | COMMAND_LISTEN | COMMAND_RECONCILE | COMMAND_USER |         \
     COMMAND_HEALTH)

const struct option option_table[OPTION_COUNT] = {
    [OPTION_CONFIG] = {"config", "FILE", NULL, "Read options from FILE: lines of `name = value`.",
                       S | COMMAND_CLUSTERS, 0},
    [OPTION_LISTEN] = {"listen", "ADDR:PORT", "127.0.0.1:8080",
                       "Address to listen on. Port 0 selects a free port and prints it.",
                       S | D | COMMAND_RECEIVE, 0},
    [OPTION_TLS_CERT] = {"tls-cert", "FILE", NULL,
                         "PEM certificate chain of the listener; requires --tls-key.", S,
                         OPTION_IS_RELOADED},
    [OPTION_TLS_KEY] = {"tls-key", "FILE", NULL, "PEM private key of the listener.", S,
                        OPTION_IS_RELOADED},
    [OPTION_STORE] = {"store", "STORE", "sqlite:./data",
                      "The store: sqlite:DIR or postgresql://...",
                      S | COMMAND_BACKUP | COMMAND_MIGRATE | COMMAND_COPY | COMMAND_MOVE |
                          COMMAND_CLUSTERS,
                      0},
    [OPTION_STORE_CLUSTER] = {"store-cluster", "URI", NULL,
                              "Another PostgreSQL cluster to split accounts over. Always list all "
                              "clusters in the same order.",
                              S | COMMAND_CLUSTERS, OPTION_IS_LIST},
    [OPTION_NODE_NAME] = {"node-name", "NAME", NULL,
                          "Name of this node (at most " NODE_NAME_SIZE
                          " bytes) in the log and on the system page, "
                          "if several share a database. Without it, the host name.",
                          S, 0},
    [OPTION_READ_REPLICA] =
        {"read-replica", "URI", NULL,
         "Read reports and the callback log from this replica of the store, postgresql://... While "
         "it is not reachable or lags, they are read from the store.",
         S, 0},
    [OPTION_READ_REPLICA_MAX_LAG] =
        {"read-replica-max-lag", "MS", "1000",
         "Maximum lag of the read replica, and how long a read waits for it, in milliseconds.", S,
         0},
    [OPTION_INTAKE] = {"intake", "kafka:TOPIC[,TOPIC]", NULL,
                       "Also take events from these topics of Kafka; requires --kafka-config.", S,
                       0},
    [OPTION_REWARDS_FEED] = {"rewards-feed", "kafka:TOPIC", NULL,
                             "Also write every reward to this topic of Kafka, once; requires "
                             "--kafka-config.",
                             S, 0},
    [OPTION_KAFKA_CONFIG] =
        {"kafka-config", "FILE", NULL,
         "Settings for Kafka, as librdkafka and Java clients name them: lines of `name=value`, "
         "such as bootstrap.servers=HOST:PORT.",
         S, 0},
    [OPTION_RETRY_SCHEDULE] =
        {"retry-schedule", "LIST", SCHEDULE_DEFAULT,
         "Delays between attempts, such as 5s,1m,1h. Each varies by 10 percent.", S,
         OPTION_IS_RELOADED},
    [OPTION_ALLOW_DESTINATION] = {"allow-destination", "CIDR", NULL,
                                  "Allow callbacks to these addresses, although they are not "
                                  "public or belong to this machine.",
                                  S, OPTION_IS_LIST | OPTION_IS_RELOADED},
    [OPTION_DENY_DESTINATION] = {"deny-destination", "CIDR", NULL,
                                 "Deny callbacks to these addresses, even if they are allowed.", S,
                                 OPTION_IS_LIST | OPTION_IS_RELOADED},
    [OPTION_SOURCE_ADDRESS] = {"source-address", "ADDR", NULL,
                               "Send callbacks from this local address, which partners can allow.",
                               S, OPTION_IS_LIST},
    [OPTION_CA_FILE] = {"ca-file", "FILE", NULL,
                        "PEM certificates to trust instead of the system's.", S | CLIENTS,
                        OPTION_IS_RELOADED},
    [OPTION_PROXY] = {"proxy", "URL", NULL,
                      "Send callbacks through this HTTP proxy, http://[user:password@]host[:port]; "
                      "names are still resolved and checked here.",
                      S, 0},
    [OPTION_DNS_SERVER] = {"dns-server", "ADDR[:PORT]", NULL,
                           "Resolve names with this server instead of the system's.", S, 0},
    [OPTION_HTTP2] = {"http2", "auto|off", "auto",
                      "Use HTTP/2 with receivers and clients whose TLS offers it, or never.", S, 0},
    [OPTION_PUBLIC_URL] = {"public-url", "URL", NULL,
                           "The URL at which people and programs reach this server, such as "
                           "https://rewards.example: for links, cookies, passkeys, sign-in and "
                           "/openapi.json. Needed behind a proxy that ends TLS.",
                           S, 0},
    [OPTION_TRUSTED_PROXY] = {"trusted-proxy", "CIDR", NULL,
                              "Trust X-Forwarded-For and X-Forwarded-Proto from these peers.", S,
                              OPTION_IS_LIST | OPTION_IS_RELOADED},
    [OPTION_SIGN_IN_FILE] = {"sign-in-file", "FILE", NULL,
                             "Let people sign in by the identity providers of this JSON file "
                             "(OpenID Connect).",
                             S, OPTION_IS_RELOADED},
    [OPTION_LOOPS] = {"loops", "N", "0",
                      "Delivery threads. 0: half of the processors, at least one.", S, 0},
    [OPTION_READS_PER_MINUTE] = {"reads-per-minute", "N", "600",
                                 "Read requests per minute and key.", S, OPTION_IS_RELOADED},
    [OPTION_OPERATIONS_URL] = {"operations-url", "URL", NULL,
                               "Post messages to the operator to this URL, signed: if the books do "
                               "not balance, a callback URL is disabled, or a certificate that an "
                               "app shows to its servers expires soon.",
                               S, OPTION_IS_RELOADED},
    [OPTION_OPERATIONS_EMAIL] = {"operations-email", "ADDRESS", NULL,
                                 "Notify the operator by e-mail, too. Needs --smtp-url.", S,
                                 OPTION_IS_RELOADED},
    [OPTION_SMTP_URL] = {"smtp-url", "URL", NULL,
                         "The mail server: smtps://HOST[:PORT], or smtp://HOST[:PORT] with "
                         "STARTTLS. Partners can then set an OperationsEmail.",
                         S, OPTION_IS_RELOADED},
    [OPTION_SMTP_USER] = {"smtp-user", "NAME", NULL, "The user name for the mail server.", S,
                          OPTION_IS_RELOADED},
    [OPTION_SMTP_PASSWORD] = {"smtp-password", "PASSWORD", NULL,
                              "The password for the mail server.", S,
                              OPTION_IS_SECRET | OPTION_IS_RELOADED},
    [OPTION_MAIL_FROM] = {"mail-from", "ADDRESS", NULL,
                          "The sender of e-mail. Needed with "
                          "--smtp-url.",
                          S, OPTION_IS_RELOADED},
    [OPTION_OPERATIONS_SPACING] =
        {"operations-spacing", "SECONDS", "300",
         "Minimum time between two messages to OperationsUrl about one endpoint.", S,
         OPTION_IS_RELOADED},
    [OPTION_DAILY_MAIL_AT] = {"daily-mail-at", "HH:MM", "07:00",
                              "Send the daily digests that people have chosen at this time (UTC).",
                              S, OPTION_IS_RELOADED},
    [OPTION_DISK_RESERVE] = {"disk-reserve", "MIB", "0",
                             "Reject events when less is free on the store's disk. 0: 256, or a "
                             "tenth of the file system if that is less.",
                             S, OPTION_IS_RELOADED},
    [OPTION_WAITING_MOST] = {"waiting-most", "N", "100000000",
                             "Reject events while more callbacks are waiting.", S,
                             OPTION_IS_RELOADED},
    [OPTION_RETAIN_BODIES_DAYS] = {"retain-bodies-days", "DAYS", "90",
                                   "Keep bodies this long after a callback's final state.", S,
                                   OPTION_IS_RELOADED},
    [OPTION_RETAIN_ATTEMPTS_DAYS] = {"retain-attempts-days", "DAYS", "30",
                                     "Keep the log of attempts this long.", S, OPTION_IS_RELOADED},
    [OPTION_RETAIN_PANELISTS_DAYS] =
        {"retain-panelists-days", "DAYS", "91",
         "Keep the panelist ids of a day this long, then only their number.", S,
         OPTION_IS_RELOADED},
    [OPTION_LOG_FORMAT] = {"log-format", "FORMAT", "text", "text or json.", S, OPTION_IS_RELOADED},
    [OPTION_LOG_LEVEL] = {"log-level", "LEVEL", "info", "debug, info, warning or error.", S,
                          OPTION_IS_RELOADED},
    [OPTION_ACCESS_LOG] = {"access-log", "FILE", NULL,
                           "Log each request as a line of JSON into this file, or to standard "
                           "error (-). SIGHUP opens the file anew.",
                           S, OPTION_IS_RELOADED},
    [OPTION_ACCESS_LOG_PROBES] = {"access-log-probes", NULL, NULL,
                                  "Also log requests of /healthz, /readyz and /metrics.", S,
                                  OPTION_IS_RELOADED},
    [OPTION_OPERATOR_KEY] = {"operator-key", "KEY", NULL,
                             "An operator key with every scope (" OPERATOR_KEY_SIZE
                             " visible ASCII characters).",
                             S | COMMAND_IMPORT | COMMAND_EXPORT | COMMAND_RECONCILE | COMMAND_USER,
                             OPTION_IS_SECRET},
    [OPTION_MASTER_KEY] = {"master-key", "KEY", NULL,
                           "Encrypts Callback Secrets at rest: 32 bytes as hex or base64. Without "
                           "it, a key file is created in the store's directory.",
                           S | COMMAND_COPY, OPTION_IS_SECRET},
    [OPTION_SECOND_MASTER_KEY] =
        {"second-master-key", "KEY", NULL,
         "The previous master key, while the key is being changed: what is encrypted with it is "
         "decrypted, and encrypted again with the master key.",
         S, OPTION_IS_SECRET},
    [OPTION_SECRET] = {"secret", "SECRET", NULL, "The app's Callback Secret.",
                       COMMAND_RECEIVE | COMMAND_VERIFY, 0},
    [OPTION_STATUS] = {"status", "N", "200", "Answer with this HTTP status.", COMMAND_RECEIVE, 0},
    [OPTION_DELAY] = {"delay", "MS", "0", "Wait this many milliseconds before answering.",
                      COMMAND_RECEIVE, 0},
    [OPTION_FAIL_RATE] = {"fail-rate", "P", "0", "Answer 503 to this share of requests, 0 to 1.",
                          COMMAND_RECEIVE, 0},
    [OPTION_PRINT] = {"print", NULL, NULL, "Also print the headers and the body of each request.",
                      COMMAND_RECEIVE, 0},
    [OPTION_SECONDS] = {"seconds", "N", "0",
                        "Stop after this many seconds. 0: run until interrupted.", D, 0},
    [OPTION_URL] = {"url", "URL", "http://127.0.0.1:8080", "The running server.", CLIENTS, 0},
    [OPTION_DAY] = {"day", "YYYY-MM-DD", NULL, "The day to compare, in UTC.", COMMAND_RECONCILE, 0},
    [OPTION_START_DATE] = {"start-date", "YYYY-MM-DD", NULL, "The first day, in UTC.",
                           COMMAND_EXPORT, 0},
    [OPTION_END_DATE] = {"end-date", "YYYY-MM-DD", NULL, "The last day, in UTC.", COMMAND_EXPORT,
                         0},
    [OPTION_PARTNER] = {"partner", "PARTNERID", NULL,
                        "The partner whose rewards are compared, if the key is an operator's.",
                        COMMAND_EXPORT | COMMAND_RECONCILE | COMMAND_USER, 0},
    [OPTION_APP] = {"app", "APPID", NULL, "Only this app.", COMMAND_EXPORT, 0},
    [OPTION_FORMAT] = {"format", "FORMAT", "ndjson", "ndjson or csv.", COMMAND_EXPORT, 0},
    [OPTION_FETCH_MISSING] =
        {"fetch-missing", NULL, NULL,
         "Print missing rewards as NDJSON, and all findings on standard error.", COMMAND_RECONCILE,
         0},
    [OPTION_API_KEY] = {"api-key", "KEY", NULL, "A partner's key with the scope callbacks:read.",
                        COMMAND_EXPORT | COMMAND_LISTEN | COMMAND_RECONCILE, OPTION_IS_SECRET},
    [OPTION_KEY] = {"key", "KEY", NULL,
                    "A key of the account with the scopes callbacks:read and apps:write. Other "
                    "users of this machine can see a command line, but not POSTBACKD_API_KEY.",
                    COMMAND_LISTEN, 0},
    [OPTION_ROLE] =
        {"role", "ROLE", NULL,
         "Role of the new user: admin or support; with --partner owner, developer or analyst.",
         COMMAND_USER, 0},
    [OPTION_NAME] = {"name", "NAME", NULL, "The new user's name.", COMMAND_USER, 0},
    [OPTION_DRY_RUN] = {"dry-run", NULL, NULL, "Print what would be done, without doing it.",
                        COMMAND_MIGRATE, 0},
    [OPTION_TO] = {"to", "STORE | URL", NULL,
                   "Destination: an empty sqlite:DIR or postgresql://...",
                   COMMAND_COPY | COMMAND_MOVE | COMMAND_LISTEN, 0},
    [OPTION_CHECK] = {"check", NULL, NULL, "Compare the two stores without copying.", COMMAND_COPY,
                      0},
    [OPTION_FINISH] = {"finish", NULL, NULL,
                       "End the move: the database that is in use stays, the other one is no "
                       "longer kept up to date.",
                       COMMAND_MOVE, 0},
};

/* fallback and help: NULL: as in the table. */
static const struct {
    enum option_id id;
    unsigned commands;
    const char *fallback, *help;
} of_commands[] = {
    /* beside the server, whose partner's receiver it is */
    {OPTION_LISTEN, COMMAND_RECEIVE, "127.0.0.1:9000", NULL},
    {OPTION_PARTNER, COMMAND_EXPORT, NULL,
     "The partner whose rows are meant, if the key is an operator's. Without it, those of all "
     "partners."},
    {OPTION_PARTNER, COMMAND_USER, NULL,
     "The partner whose people are meant. Without it, the operator's own people."},
    {OPTION_MASTER_KEY, COMMAND_COPY, NULL,
     "The key that encrypts the Callback Secrets of --store: 32 bytes as hex or base64. Without "
     "it, the key file in the store's directory."},
    {OPTION_API_KEY, COMMAND_EXPORT, NULL,
     "A partner's key with the scope callbacks:read; for statements reports:read."},
    {OPTION_API_KEY, COMMAND_LISTEN, NULL,
     "A key of the account with the scopes callbacks:read and apps:write."},
    {OPTION_TO, COMMAND_LISTEN, NULL, "Your server's URL."},
};

const char *option_fallback(enum option_id id, unsigned commands)
{
    for (size_t i = 0; i < ARRAY_LEN(of_commands); i++)
        if (of_commands[i].id == id && of_commands[i].commands & commands &&
            of_commands[i].fallback)
            return of_commands[i].fallback;
    return option_table[id].fallback;
}

const char *option_help(enum option_id id, unsigned commands)
{
    for (size_t i = 0; i < ARRAY_LEN(of_commands); i++)
        if (of_commands[i].id == id && of_commands[i].commands & commands && of_commands[i].help)
            return of_commands[i].help;
    return option_table[id].help;
}

void option_print_variable(struct buf *to, const struct option *o)
{
    buf_add_c(to, "POSTBACKD_");
    for (const char *p = o->name; *p; p++)
        buf_add_char(to, *p == '-' ? '_' : (char)toupper((unsigned char)*p));
}
