/* --help of every command and the manual page, printed from the two tables, so that they name
 * every option there is and none that is not. */
#include "cli/command.h"

#include "base/buf.h"

#include <ctype.h>
#include <stdio.h>

static void print_option(struct buf *to, const struct option *o, bool manual)
{
    char variable[64] = "POSTBACKD_";
    size_t n = strlen(variable);
    for (const char *p = o->name; *p && n < sizeof variable - 1; p++)
        variable[n++] = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
    variable[n] = '\0';
    bool secret = o->flags & OPTION_IS_SECRET;
    if (manual)
        buf_printf(to, ".TP\n\\fB%s%s\\fR \\fI%s\\fR\n%s", secret ? "" : "\\-\\-",
                   secret ? variable : o->name, secret || !o->argument ? "" : o->argument, o->help);
    else
        buf_printf(to, "  %s%s%s%s\n      %s", secret ? "" : "--", secret ? variable : o->name,
                   o->argument ? " " : "",
                   secret        ? "(environment only)"
                   : o->argument ? o->argument
                                 : "",
                   o->help);
    if (o->flags & OPTION_IS_LIST)
        buf_add_c(to, " May be given several times.");
    if (o->flags & OPTION_IS_RELOADED)
        buf_add_c(to, " Reloaded at SIGHUP.");
    if (o->fallback)
        buf_printf(to, " Default: %s.", o->fallback);
    buf_add_char(to, '\n');
}

static void print_options(struct buf *to, unsigned commands, bool manual)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_table[i].commands & commands)
            print_option(to, &option_table[i], manual);
}

static void flush_out(struct buf *text)
{
    fwrite(text->p, 1, text->n, stdout);
    buf_free(text);
}

void help_print_all(void)
{
    struct buf text = {0};
    buf_add_c(&text, "postbackd receives survey and offer events, computes exact rewards, delivers "
                     "signed\ncallbacks and serves the partner's reports.\n\nusage: postbackd "
                     "COMMAND [OPTION...]\n"
                     "       postbackd --version | --help | COMMAND --help\n\ncommands:\n");
    for (size_t i = 0; i < command_count; i++)
        buf_printf(&text, "  %-9s %s\n", command_table[i].name, command_table[i].summary);
    buf_add_c(&text, "\nEvery option of serve can also be set in the --config file as `name = "
                     "value`, or in the\nenvironment as POSTBACKD_NAME. The command line takes "
                     "precedence over the environment,\nwhich takes precedence over the file.\n");
    flush_out(&text);
}

void help_print_command(const struct command_entry *c)
{
    struct buf text = {0};
    buf_printf(&text, "usage: postbackd %s [OPTION...]%s%s\n\n%s\n", c->name,
               *c->operands ? " " : "", c->operands, c->summary);
    if (*c->details)
        buf_printf(&text, "\n%s\n", c->details);
    buf_add_c(&text, "\noptions:\n");
    print_options(&text, c->command, false);
    flush_out(&text);
}

void help_print_manual(void)
{
    struct buf text = {0};
    buf_add_c(&text,
              ".TH POSTBACKD 1\n.SH NAME\npostbackd \\- rewards in, signed callbacks out\n"
              ".SH SYNOPSIS\n.B postbackd\n\\fICOMMAND\\fR [\\fIOPTION\\fR...]\n"
              ".SH DESCRIPTION\nReceives survey and offer events, records them durably, computes "
              "exact\nrewards, delivers signed callbacks and serves five reports.\n.SH COMMANDS\n");
    for (size_t i = 0; i < command_count; i++) {
        const struct command_entry *c = &command_table[i];
        buf_printf(&text, ".SS postbackd %s [\\fIOPTION\\fR...] %s\n%s\n", c->name, c->operands,
                   c->summary);
        if (*c->details)
            buf_printf(&text, ".PP\n%s\n", c->details);
        print_options(&text, c->command, true);
    }
    buf_add_c(
        &text,
        ".SH CONFIGURATION\nEvery option of \\fBserve\\fR is also a line \\fIname = value\\fR of "
        "the file\n"
        "given by \\fB\\-\\-config\\fR and a variable \\fBPOSTBACKD_NAME\\fR of the environment.\n"
        "The command line takes precedence over the environment, which takes\nprecedence over the "
        "file.\n"
        ".SH SIGNALS\nSIGTERM and SIGINT stop accepting requests, finish running attempts and exit "
        "0.\nSIGHUP reloads the certificate, opens the access log anew and reads the "
        "settings again. The log\nnames those that have changed, and those that need a restart.\n"
        ".SH EXIT STATUS\n0 success; 1 failure; 2 wrong usage.\n");
    flush_out(&text);
}
