/* The entry of the binary: finds the command named by the first argument, reads its settings and
 * runs it. */
#include "cli/client.h"
#include "cli/command.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/plain_text.h"
#include "daemon/daemon.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define STACK_BYTES (8 << 20)
#define STACK_BYTES_LEAST (1 << 20)

const struct command_entry command_table[] = {
    {COMMAND_SERVE, "serve", "", "Run the server.",
     "SIGTERM or SIGINT stops it; SIGHUP reloads the certificate and the settings that say so "
     "below.",
     command_serve},
    {COMMAND_CHECK, "check", "", "Check the settings, certificate and store without starting.",
     "Takes the options of serve and prints one line for each thing that a start needs. Changes "
     "nothing, and can run beside a server. Exits with 0 if everything is good, 1 if something is "
     "not, 2 if a setting is wrong.",
     command_check},
    {COMMAND_HEALTH, "health", "", "Ask a running server whether it is ready.",
     "For a container's health check. Prints the answer of /readyz. Exits with 0 if the server "
     "takes events, 1 if not.",
     command_health},
    {COMMAND_DEMO, "demo", "", "Run a demo: server, receiver and simulated traffic.",
     "It uses a temporary store, which is removed at the end.", command_demo},
    {COMMAND_RECEIVE, "receive", "", "Run a test receiver: verify each callback and print a line.",
     "", command_receive},
    {COMMAND_LISTEN, "listen", "",
     "Forward an account's new callbacks and tests to your own server.",
     "For a server without a public address, such as http://localhost:3000/hook. Each new callback "
     "is signed again, posted to --to, and the answer is printed. It does not count as an attempt "
     "or a delivery.",
     command_listen},
    {COMMAND_VERIFY, "verify", "< body.json",
     "Check whether the Sig of a callback matches and, if not, why.",
     "Reads the body of the callback from standard input. Exits with 0 if Sig matches.",
     command_verify},
    {COMMAND_IMPORT, "import", "[WHAT] FILE",
     "Import past events or apps from another system, or invite the people of a file.",
     "WHAT is events (the default), people or apps. FILE is NDJSON; - is standard input. "
     "Importing a file twice changes nothing. Events are one per line, as for POST /api/v1/events, "
     "of any age; "
     "they count in reports, and no callbacks are sent for them. A person is {\"Email\", "
     "\"Role\", \"PartnerId\", \"Name\", \"UserId\", \"SendMail\"}, of which only Email and "
     "Role are needed; without PartnerId it is one of the operator's people. All lines are checked "
     "before anybody is invited. Links that do not go by e-mail are printed, one JSON object per "
     "line. Whoever is there already is not changed. An app is {\"PartnerId\", \"AppId\", ...} "
     "with what POST /api/v1/partners/{PartnerId}/apps takes, such as CallbackSecret, the secret "
     "that its receiver has; with \"PartnerName\" its partner is created, too.",
     command_import},
    {COMMAND_EXPORT, "export", "WHAT [FILE]",
     "Export events, rewards, attempts or statements of some days.",
     "WHAT is events, rewards, attempts or statements. Without FILE, or with -, rows go to "
     "standard output. FILE is written as FILE.part until it is whole; s3://BUCKET/KEY is "
     "uploaded. To continue an export that was stopped or killed, run the same command again. "
     "Exits with 0 if all rows were written, 1 if not.",
     command_export},
    {COMMAND_RECONCILE, "reconcile", "FILE", "Compare your own records with the rewards of a day.",
     "FILE has the records: NDJSON (bodies of callbacks work) or CSV with a header line that names "
     "the columns RewardId, Reward and optionally RevenueAmount. - is standard input. Lists "
     "rewards that are missing, doubled, different or unknown. Exits with 0 if all are equal, 1 if "
     "not, 2 if nothing was compared.",
     command_reconcile},
    {COMMAND_BACKUP, "backup", "FILE",
     "Back up a store into one file, even while a server uses it.",
     "FILE must not exist. It contains everything acknowledged when the command started, and is "
     "checked. To restore, put it into a new directory as postbackd.db and start with the same "
     "master key. If none is configured, copy the store's master.key too.",
     command_backup},
    {COMMAND_MIGRATE, "migrate", "", "Upgrade a store's tables to this version.",
     "A server does this when it starts. On PostgreSQL, this command also makes the changes that "
     "older servers cannot work with: run it once the last node has the new version. On SQLite, "
     "stop the server first.",
     command_migrate},
    {COMMAND_COPY, "copy", "", "Move a store from SQLite to PostgreSQL, or back.",
     "Stop the servers of both stores first. After the copy, both stores are compared row by row, "
     "and a digest of each is printed. To continue a copy that was stopped or killed, run the same "
     "command again. No server starts on an unfinished copy. Exits with 0 if both are equal, 1 if "
     "not or if it failed.",
     command_copy},
    {COMMAND_MOVE, "move", "", "Move a PostgreSQL database to another server, while it is used.",
     "Both are URIs of PostgreSQL servers with wal_level=logical. Copies all rows to the empty "
     "database --to and keeps it up to date. Then it switches: servers that name both hosts in "
     "their URI change over by themselves, within about a second. Afterwards --store is kept up to "
     "date, and the same command with --store and --to exchanged moves back, until --finish. To "
     "continue a move that was stopped or killed, run the same command again. Exits with 0 once "
     "--to is in use, 1 if not.",
     command_move},
    {COMMAND_CLUSTERS, "clusters", "", "Show where each PostgreSQL cluster is, and how full it is.",
     "Prints a line for each cluster: its server, database, partners, events, waiting callbacks, "
     "size, events of yesterday and today (UTC), and whether it is in use, away or being moved. "
     "Takes --config of serve, too. Changes nothing, and can run beside a server. What the role "
     "may not read is shown as `?`. Exits with 0 if no cluster is away, 1 if one is.",
     command_clusters},
    {COMMAND_USER, "user", "VERB [EMAIL]", "Add people, and reset their access.",
     "VERB is add, list, reset (the password), reset-second-factor (with passkeys), unlink (from "
     "the identity provider), disable, enable or remove. add and reset print a one-time link. "
     "Needs a running server and its operator key. With --partner, manages the people of a "
     "partner, otherwise those of the operator.",
     command_user},
};
const size_t command_count = ARRAY_LEN(command_table);

static void say(FILE *to, const char *prefix, const char *fmt, va_list ap)
{
    struct buf text = {0}, line = {0};
    buf_add_c(&text, prefix);
    buf_vprintf(&text, fmt, ap);
    plain_text_print(&line, buf_str(&text));
    fprintf(to, "%.*s\n", STR_ARG(str_trim_end(buf_str(&line), ' ')));
    buf_free(&text);
    buf_free(&line);
}

void command_say(FILE *to, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(to, "", fmt, ap);
    va_end(ap);
}

int command_fail(int status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(stderr, "postbackd: ", fmt, ap);
    va_end(ap);
    return status;
}

static const struct command_entry *find_command(const char *name)
{
    for (size_t i = 0; i < command_count; i++)
        if (strcmp(command_table[i].name, name) == 0)
            return &command_table[i];
    return NULL;
}

static bool asks_help(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

static int run(const struct command_entry *c, int argc, char **argv)
{
    struct settings settings;
    struct str why;
    bool good = settings_read(&settings, c->command, argc, argv, environ, &why);
    if (good && !(c->command &
                  (COMMAND_SERVE | COMMAND_CHECK))) /* these two warn after the log is configured */
        settings_warn(&settings);
    bool is_strange = good && settings.operand_count && !*c->operands;
    int status;
    if (is_strange)
        status = command_fail(EXIT_USAGE, "%.*s: %s takes options only.",
                              STR_ARG(settings.operands[0]), c->name);
    else if (!good || !client_can_trust(&settings, &why))
        status = command_fail(EXIT_USAGE, "%.*s", STR_ARG(why));
    else
        status = c->run(&settings);
    settings_free(&settings);
    return status;
}

/* All threads get the same stack, whatever `ulimit -s` is: the kernel grows the main thread's up to
 * the present limit, and new threads get the default. */
static bool set_stack(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < STACK_BYTES) {
        limit.rlim_cur = limit.rlim_max < STACK_BYTES ? limit.rlim_max : STACK_BYTES;
        if (limit.rlim_cur < STACK_BYTES_LEAST || setrlimit(RLIMIT_STACK, &limit) != 0)
            return false;
    }
    pthread_attr_t attributes;
    ASSERT(pthread_attr_init(&attributes) == 0);
    bool good = pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0 &&
                pthread_setattr_default_np(&attributes) == 0;
    pthread_attr_destroy(&attributes);
    return good;
}

/* If a standard file is closed, the next opened file would get its number, and messages would be
 * written into that file. So /dev/null takes the number, opened in the wrong direction: using it is
 * still an error. */
static bool reserve_standard_files(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
            return false;
    return true;
}

/* Failed output must change the exit status, on which readers of the output rely. */
static int end_output(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    (void)command_fail(1, "standard output could not be written: what it should say is not whole.");
    return status ? status : 1;
}

static int run_word(const char *word, int argc, char **argv)
{
    if (strcmp(word, "--version") == 0) {
        puts("postbackd " POSTBACKD_VERSION);
        return 0;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        help_print_all();
        return 0;
    }
    if (strcmp(word, "--manual") == 0)
        return help_print_manual(argc > 2 ? argv[2] : "1")
                   ? 0
                   : command_fail(EXIT_USAGE, "--manual takes a section: 1, 5 or 8.");
    if (strcmp(word, "--completion") == 0)
        return help_print_completion(argc > 2 ? argv[2] : "")
                   ? 0
                   : command_fail(EXIT_USAGE, "--completion takes a shell: bash or zsh.");
    const struct command_entry *c = find_command(word);
    if (!c)
        return command_fail(EXIT_USAGE, "%s%s`postbackd --help` lists the commands.", word,
                            *word ? " is not a command; " : "");
    if (asks_help(argc - 2, argv + 2)) {
        help_print_command(c);
        return 0;
    }
    return run(c, argc - 2, argv + 2);
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (!reserve_standard_files())
        return 1;
    bool is_server = strcmp(word, "serve") == 0;
    if (is_server)
        daemon_block_signals(); /* first: a SIGHUP during a start must not end it */
    signal(SIGXFSZ, SIG_IGN);   /* a write beyond `ulimit -f` fails with EFBIG instead */
    if (!set_stack())
        return command_fail(1, "the hard limit of the stack (`ulimit -H -s`) is below %d KiB.",
                            STACK_BYTES_LEAST / 1024);
    alloc_configure();
    if (sodium_init() < 0)
        return command_fail(1, "libsodium cannot be initialised.");
    int status = run_word(word, argc, argv);
    return is_server ? status : end_output(status); /* nobody reads a server's output */
}
