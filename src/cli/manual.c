/* The manual pages, in roff, printed from the tables of commands and options: 1 for all commands, 5
 * for the configuration file, 8 for running the server. */
#include "cli/command.h"

#include "base/buf.h"

static void print_option(struct buf *to, enum option_id id, unsigned commands)
{
    const struct option *o = &option_table[id];
    buf_add_c(to, ".TP\n\\fB");
    if (o->flags & OPTION_IS_SECRET)
        option_print_variable(to, o);
    else
        buf_printf(to, "\\-\\-%s\\fR \\fI%s", o->name, o->argument ? o->argument : "");
    buf_add_c(to, "\\fR\n");
    option_print_help(to, id, commands);
}

static void print_commands(struct buf *to)
{
    buf_add_c(to,
              ".TH POSTBACKD 1\n.SH NAME\npostbackd \\- rewards in, signed callbacks out\n"
              ".SH SYNOPSIS\n.B postbackd\n\\fICOMMAND\\fR [\\fIOPTION\\fR...]\n"
              ".SH DESCRIPTION\nReceives survey and offer events, records them durably, computes "
              "exact\nrewards, delivers signed callbacks and serves five reports.\n.SH COMMANDS\n");
    for (size_t i = 0; i < command_count; i++) {
        const struct command_entry *c = &command_table[i];
        buf_printf(to, ".SS postbackd %s [\\fIOPTION\\fR...] %s\n%s\n", c->name, c->operands,
                   c->summary);
        if (*c->details)
            buf_printf(to, ".PP\n%s\n", c->details);
        for (int o = 0; o < OPTION_COUNT; o++)
            if (option_table[o].commands & c->command)
                print_option(to, (enum option_id)o, c->command);
    }
    buf_add_c(
        to,
        ".SH CONFIGURATION\nEvery option of \\fBserve\\fR is also a line \\fIname = value\\fR of "
        "the file\n"
        "given by \\fB\\-\\-config\\fR and a variable \\fBPOSTBACKD_NAME\\fR of the environment.\n"
        "The command line takes precedence over the environment, which takes\nprecedence over the "
        "file.\n"
        ".SH EXIT STATUS\n0 success; 1 failure; 2 wrong usage.\n"
        ".SH SEE ALSO\n.BR postbackd.conf (5),\n.BR postbackd (8)\n");
}

static void print_configuration(struct buf *to)
{
    buf_add_c(
        to,
        ".TH POSTBACKD.CONF 5\n.SH NAME\npostbackd.conf \\- configuration of the postbackd server\n"
        ".SH SYNOPSIS\n.I /etc/postbackd/postbackd.conf\n"
        ".SH DESCRIPTION\nRead by \\fBpostbackd serve \\-\\-config\\fR and \\fBpostbackd check "
        "\\-\\-config\\fR.\nEach line is \\fIname = value\\fR; empty lines and lines that begin "
        "with # are\nskipped. The environment (\\fBPOSTBACKD_NAME\\fR) and the command line "
        "(\\fB\\-\\-name\\fR)\ntake precedence. What may be given several times is a line each. A "
        "name or a value\nthat is not understood stops the start.\n.PP\nKeep the file from other "
        "users if it contains a key or a password.\n.SH OPTIONS\n");
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option *o = &option_table[i];
        if (!(o->commands & COMMAND_SERVE) || i == OPTION_CONFIG)
            continue;
        buf_printf(to, ".TP\n\\fB%s\\fR = \\fI%s\\fR\n", o->name,
                   o->argument ? o->argument : "true|false");
        option_print_help(to, (enum option_id)i, COMMAND_SERVE);
    }
    buf_add_c(to, ".SH EXAMPLES\n.nf\nlisten = 0.0.0.0:8443\ntls\\-cert = "
                  "/etc/postbackd/cert.pem\ntls\\-key = /etc/postbackd/key.pem\nstore = "
                  "sqlite:/var/lib/postbackd\n.fi\n"
                  ".SH SEE ALSO\n.BR postbackd (1),\n.BR postbackd (8)\n");
}

static void print_server(struct buf *to)
{
    buf_add_c(
        to,
        ".TH POSTBACKD 8\n.SH NAME\npostbackd \\- run the postbackd server\n"
        ".SH SYNOPSIS\n\\fBpostbackd serve\\fR [\\fIOPTION\\fR...]\n.br\n"
        "\\fBpostbackd check\\fR [\\fIOPTION\\fR...]\n"
        ".SH DESCRIPTION\n\\fBserve\\fR runs the server until it is stopped. \\fBcheck\\fR takes "
        "the same options\nand says whether a start would succeed, without starting. "
        "Options are in\n.BR postbackd (1);\neach is also a line of\n.BR postbackd.conf (5).\n"
        ".SH ENVIRONMENT\n.TP\n.B POSTBACKD_OPERATOR_KEY\nAn API key with every scope.\n"
        ".TP\n.B POSTBACKD_MASTER_KEY\nEncrypts Callback Secrets in the store. Without it, or a "
        "copy of it, no backup can\nbe read.\n"
        ".TP\n.BR NOTIFY_SOCKET \", \" WATCHDOG_USEC \", \" LISTEN_FDS \", \" LISTEN_PID\n"
        "Set by systemd, or by another manager that speaks its protocol.\n"
        ".SH SIGNALS\n.TP\n.BR SIGTERM \", \" SIGINT\nStop accepting requests, finish running "
        "attempts and exit 0.\n"
        ".TP\n.B SIGHUP\nReload the certificate, open the access log anew and read the "
        "settings again. The log\nnames those that have changed, and those that need a restart.\n"
        ".TP\n.BR SIGUSR1 \", \" SIGUSR2\nIgnored.\n"
        ".SH FILES\n.TP\n.I /etc/postbackd/postbackd.conf\nThe configuration of the packaged "
        "service.\n.TP\n.I /etc/postbackd/keys\nIts keys, as variables of the environment.\n"
        ".TP\n.I /var/lib/postbackd\nIts store.\n"
        ".TP\n.I /usr/share/doc/postbackd/operators\nThe operators' documentation.\n"
        ".SH EXIT STATUS\n0 success; 1 failure; 2 wrong usage or configuration.\n"
        ".SH SEE ALSO\n.BR postbackd (1),\n.BR postbackd.conf (5),\n.BR systemctl (1)\n");
}

bool help_print_manual(const char *section)
{
    struct buf text = {0};
    if (strcmp(section, "1") == 0)
        print_commands(&text);
    else if (strcmp(section, "5") == 0)
        print_configuration(&text);
    else if (strcmp(section, "8") == 0)
        print_server(&text);
    else
        return false;
    help_print(&text);
    return true;
}
