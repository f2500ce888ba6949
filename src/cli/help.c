/* Prints --help of every command from the two tables, so that it has exactly the existing
 * options. */
#include "cli/command.h"

#include "base/buf.h"

#include <stdio.h>

static void print_option(struct buf *to, enum option_id id, unsigned commands)
{
    const struct option *o = &option_table[id];
    if (o->flags & OPTION_IS_SECRET) {
        buf_add_c(to, "  ");
        option_print_variable(to, o);
        buf_add_c(to, " (environment only)");
    } else {
        buf_printf(to, "  --%s%s%s", o->name, o->argument ? " " : "",
                   o->argument ? o->argument : "");
    }
    buf_add_c(to, "\n      ");
    option_print_help(to, id, commands);
}

void option_print_help(struct buf *to, enum option_id id, unsigned commands)
{
    bool is_served = commands & (COMMAND_SERVE | COMMAND_CHECK); /* only servers take SIGHUP */
    const char *fallback = option_fallback(id, commands);
    buf_add_c(to, option_help(id, commands));
    if (option_table[id].flags & OPTION_IS_LIST)
        buf_add_c(to, " May be given several times.");
    if (is_served && option_table[id].flags & OPTION_IS_RELOADED)
        buf_add_c(to, " Reloaded at SIGHUP.");
    if (fallback)
        buf_printf(to, " Default: %s.", fallback);
    buf_add_char(to, '\n');
}

static void print_options(struct buf *to, unsigned commands)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_table[i].commands & commands)
            print_option(to, (enum option_id)i, commands);
}

void help_print(struct buf *text)
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
                     "       postbackd --version | --help | COMMAND --help\n"
                     "       postbackd --completion bash|zsh | --manual [1|5|8]\n\ncommands:\n");
    for (size_t i = 0; i < command_count; i++)
        buf_printf(&text, "  %-9s %s\n", command_table[i].name, command_table[i].summary);
    buf_add_c(&text, "\nEvery option of serve can also be set in the --config file as `name = "
                     "value`, or in the\nenvironment as POSTBACKD_NAME. The command line takes "
                     "precedence over the environment,\nwhich takes precedence over the file.\n");
    help_print(&text);
}

void help_print_command(const struct command_entry *c)
{
    struct buf text = {0};
    buf_printf(&text, "usage: postbackd %s [OPTION...]%s%s\n\n%s\n", c->name,
               *c->operands ? " " : "", c->operands, c->summary);
    if (*c->details)
        buf_printf(&text, "\n%s\n", c->details);
    buf_add_c(&text, "\noptions:\n");
    print_options(&text, c->command);
    help_print(&text);
}
