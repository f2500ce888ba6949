/* The options of every command: one table, from which the command line, the config file, the
 * environment, --help and the manual page are made.
 *
 * An option `retry-schedule` is `--retry-schedule LIST` on the command line, `retry-schedule =
 * LIST` in the config file and POSTBACKD_RETRY_SCHEDULE in the environment. The command line
 * beats the environment, which beats the file. Options that repeat are lists; in the environment
 * their values are separated by commas. */
#pragma once

#include "base/arena.h"
#include "base/check.h"
#include "net/socket.h"

enum command {
    COMMAND_SERVE = 1 << 0,
    COMMAND_DEMO = 1 << 1,
    COMMAND_RECEIVE = 1 << 2,
    COMMAND_VERIFY = 1 << 3,
    COMMAND_IMPORT = 1 << 4,
    COMMAND_BACKUP = 1 << 5,
    COMMAND_RECONCILE = 1 << 6,
    COMMAND_USER = 1 << 7,
    COMMAND_MIGRATE = 1 << 8,
    COMMAND_COPY = 1 << 9,
    COMMAND_LISTEN = 1 << 10,
    COMMAND_CHECK = 1 << 11,
    COMMAND_EXPORT = 1 << 12,
    COMMAND_HEALTH = 1 << 13,
    COMMAND_MOVE = 1 << 14,
    COMMAND_CLUSTERS = 1 << 15,
};

/* An option's index in the table, by which code asks for it. */
enum option_id {
    OPTION_CONFIG,
    OPTION_LISTEN,
    OPTION_TLS_CERT,
    OPTION_TLS_KEY,
    OPTION_STORE,
    OPTION_STORE_CLUSTER,
    OPTION_NODE_NAME,
    OPTION_READ_REPLICA,
    OPTION_READ_REPLICA_MAX_LAG,
    OPTION_INTAKE,
    OPTION_REWARDS_FEED,
    OPTION_KAFKA_CONFIG,
    OPTION_RETRY_SCHEDULE,
    OPTION_ALLOW_DESTINATION,
    OPTION_DENY_DESTINATION,
    OPTION_SOURCE_ADDRESS,
    OPTION_CA_FILE,
    OPTION_PROXY,
    OPTION_DNS_SERVER,
    OPTION_HTTP2,
    OPTION_PUBLIC_URL,
    OPTION_TRUSTED_PROXY,
    OPTION_SIGN_IN_FILE,
    OPTION_LOOPS,
    OPTION_READS_PER_MINUTE,
    OPTION_OPERATIONS_URL,
    OPTION_OPERATIONS_EMAIL,
    OPTION_OPERATIONS_SPACING,
    OPTION_SMTP_URL,
    OPTION_SMTP_USER,
    OPTION_SMTP_PASSWORD,
    OPTION_MAIL_FROM,
    OPTION_DAILY_MAIL_AT,
    OPTION_DISK_RESERVE,
    OPTION_WAITING_MOST,
    OPTION_RETAIN_BODIES_DAYS,
    OPTION_RETAIN_ATTEMPTS_DAYS,
    OPTION_RETAIN_PANELISTS_DAYS,
    OPTION_LOG_FORMAT,
    OPTION_LOG_LEVEL,
    OPTION_ACCESS_LOG,
    OPTION_ACCESS_LOG_PROBES,
    OPTION_OPERATOR_KEY,
    OPTION_MASTER_KEY,
    OPTION_SECOND_MASTER_KEY,
    OPTION_SECRET,
    OPTION_STATUS,
    OPTION_DELAY,
    OPTION_FAIL_RATE,
    OPTION_PRINT,
    OPTION_SECONDS,
    OPTION_URL,
    OPTION_DAY,
    OPTION_START_DATE,
    OPTION_END_DATE,
    OPTION_PARTNER,
    OPTION_APP,
    OPTION_FORMAT,
    OPTION_FETCH_MISSING,
    OPTION_API_KEY,
    OPTION_KEY,
    OPTION_ROLE,
    OPTION_NAME,
    OPTION_DRY_RUN,
    OPTION_TO,
    OPTION_CHECK,
    OPTION_FINISH,
    OPTION_COUNT
};

struct option {
    const char *name;
    const char *argument; /* shown in --help; NULL: a flag, which takes none */
    const char *fallback; /* NULL: none; see option_fallback */
    const char *help;     /* see option_help */
    unsigned commands;    /* which commands take it */
    unsigned flags;
};

enum {
    OPTION_IS_LIST = 1,
    OPTION_IS_SECRET = 2,   /* environment only: everybody can see a command line */
    OPTION_IS_RELOADED = 4, /* a running server takes a new value at SIGHUP */
};

extern const struct option option_table[OPTION_COUNT];

/* For these commands: some have another default or text than the table. */
const char *option_fallback(enum option_id id, unsigned commands); /* NULL: none */
const char *option_help(enum option_id id, unsigned commands);

struct buf;
void option_print_variable(struct buf *to, const struct option *o); /* POSTBACKD_NAME */
/* Prints a line of help with the default for these commands. */
void option_print_help(struct buf *to, enum option_id id, unsigned commands);

#define SETTING_VALUES_MAX 64
#define SETTING_UNKNOWN_MAX 16 /* further ones are not reported */

/* The source of a value; later ones replace earlier ones. */
enum setting_source { FROM_NOWHERE, FROM_FILE, FROM_ENVIRONMENT, FROM_COMMAND_LINE };

/* The values of one run. Texts are the arena's. */
#define OPERATOR_KEY_BYTES_LEAST 16
#define OPERATOR_KEY_BYTES_MOST 8192 /* half of a request's head: leaves room for other fields */

struct settings {
    struct arena arena;
    enum command command;
    int argc; /* behind the command */
    char **argv, **environment;
    bool wiped; /* the environment's secrets are overwritten */
    struct {
        struct str values[SETTING_VALUES_MAX];
        int lines[SETTING_VALUES_MAX]; /* of the config file */
        size_t count;
        enum setting_source source;
    } of[OPTION_COUNT];
    struct str operands[2]; /* arguments that are no options: FILE of backup, import */
    size_t operand_count;
    struct str unknown_variables[SETTING_UNKNOWN_MAX]; /* POSTBACKD_* that name no option */
    size_t unknown_variable_count;
    struct str file;
    bool file_has_key;      /* a secret option stands in the config file */
    struct str public_file; /* the config file, if everybody on the machine may read it */
};

/* Reads file, environment and command line (argv after the command). False: *ret_why is one clear
 * line in the arena. The caller handles --help before. */
MUST_CHECK bool settings_read(struct settings *s, enum command command, int argc, char **argv,
                              char **environment, struct str *ret_why);
void settings_free(struct settings *s);
/* Reads the same sources again, for a running server. The environment was wiped, so its secrets are
 * those of `first`, which must outlive them. Frees nothing; on false *next must be freed all the
 * same. */
MUST_CHECK bool settings_reread(const struct settings *first, struct settings *next,
                                struct str *ret_why);
/* True if both have the same value, given or by default. */
bool settings_same(const struct settings *a, const struct settings *b, enum option_id id);
/* Overwrites the values of secret options, read or not: /proc/PID/environ shows a process's
 * environment for as long as it runs. */
void settings_wipe_environment(char **environment);
/* Logs a warning for each unknown POSTBACKD_* variable, and for keys in a config file that others
 * may read. Call it after the log is configured. */
void settings_warn(const struct settings *s);

/* The value, the option's fallback, or absent. */
struct str settings_text(const struct settings *s, enum option_id id);
/* Prints the option and the source of that value, as the beginning of a message: "FILE:LINE: name:
 * ", "POSTBACKD_NAME: " or "--name: ". */
void settings_print_place(struct buf *to, const struct settings *s, enum option_id id,
                          struct str value);
/* A whole number of [least, most]; false with *ret_why. */
MUST_CHECK bool settings_int(struct settings *s, enum option_id id, int64_t least, int64_t most,
                             int64_t *ret, struct str *ret_why);
/* Reads --listen, in all commands that have it. False: *ret_why is one clear line. */
MUST_CHECK bool settings_listen(struct settings *s, struct endpoint *ret, struct str *ret_why);

/* Reads the text of a file like settings_read; also for the fuzzer. */
MUST_CHECK bool settings_parse_file(struct settings *s, struct str name, struct str text,
                                    struct str *ret_why);
