/* Prints completion scripts of shells from the tables of commands and options. */
#include "cli/command.h"

#include "base/buf.h"

static bool is_completed(const struct option *o, const struct command_entry *c)
{
    return (o->commands & c->command) && !(o->flags & OPTION_IS_SECRET);
}

/* Values of the first operand, besides a file's name. */
static const struct {
    enum command command;
    const char *words;
} first_words[] = {
    {COMMAND_IMPORT, "events people apps"},
    {COMMAND_EXPORT, "events rewards attempts statements"},
    {COMMAND_USER, "add list reset reset-second-factor unlink disable enable remove"},
};

static const char *words_of(enum command command)
{
    for (size_t i = 0; i < ARRAY_LEN(first_words); i++)
        if (first_words[i].command == command)
            return first_words[i].words;
    return NULL;
}

/* ---- bash: words; behind an option that takes a value, and for operands, file names */

static void print_bash(struct buf *to)
{
    buf_add_c(
        to,
        "# bash completion of postbackd; printed by `postbackd --completion bash`.\n"
        "_postbackd() {\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= first=\n"
        "    COMPREPLY=()\n"
        "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
        "        words='");
    for (size_t i = 0; i < command_count; i++)
        buf_printf(to, "%s ", command_table[i].name);
    buf_add_c(to, "--help --version --completion --manual'\n"
                  "    else\n"
                  "        case $prev in\n"
                  "            --help");
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_table[i].argument && !(option_table[i].flags & OPTION_IS_SECRET))
            buf_printf(to, " | --%s", option_table[i].name);
    buf_add_c(to, ") return ;;\n"
                  "        esac\n"
                  "        case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; i < command_count; i++) {
        buf_printf(to, "            %s) words='--help", command_table[i].name);
        for (int o = 0; o < OPTION_COUNT; o++)
            if (is_completed(&option_table[o], &command_table[i]))
                buf_printf(to, " --%s", option_table[o].name);
        const char *first = words_of(command_table[i].command);
        buf_printf(to, "'%s%s%s ;;\n", first ? " first='" : "", first ? first : "",
                   first ? "'" : "");
    }
    buf_add_c(
        to,
        "        esac\n"
        "        case $cur in -*) ;; *) [ \"$COMP_CWORD\" -eq 2 ] || return; words=$first ;; "
        "esac\n"
        "    fi\n"
        "    while IFS= read -r word; do COMPREPLY+=(\"$word\"); done < <(compgen -W \"$words\" "
        "-- \"$cur\")\n"
        "}\n"
        "complete -o default -F _postbackd postbackd\n");
}

/* ---- zsh: words with their help */

/* Escapes text that stands within single quotes, and in a specification of an option within
 * brackets or between colons. */
static void add_quoted(struct buf *to, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (*p == '\'')
            buf_add_c(to, "'\\''");
        else if (char_in(*p, "[]:\\"))
            buf_printf(to, "\\%c", *p);
        else
            buf_add_char(to, *p);
    }
}

static void print_zsh_option(struct buf *to, enum option_id id, unsigned commands)
{
    const struct option *o = &option_table[id];
    buf_printf(to, " \\\n                '%s--%s[", o->flags & OPTION_IS_LIST ? "*" : "", o->name);
    add_quoted(to, option_help(id, commands));
    buf_add_char(to, ']');
    if (o->argument) {
        buf_add_char(to, ':');
        add_quoted(to, o->argument);
        buf_add_c(to, strcmp(o->argument, "FILE") == 0 ? ":_files" : ": ");
    }
    buf_add_char(to, '\'');
}

static void print_zsh(struct buf *to)
{
    buf_add_c(to, "#compdef postbackd\n"
                  "# zsh completion of postbackd; printed by `postbackd --completion zsh`.\n"
                  "_postbackd() {\n"
                  "    local -a commands=(\n");
    for (size_t i = 0; i < command_count; i++) {
        buf_printf(to, "        '%s:", command_table[i].name);
        add_quoted(to, command_table[i].summary);
        buf_add_c(to, "'\n");
    }
    buf_add_c(to, "    )\n"
                  "    if (( CURRENT == 2 )); then\n"
                  "        _describe command commands\n"
                  "        return\n"
                  "    fi\n"
                  "    local command=$words[2]\n"
                  "    shift words\n"
                  "    (( CURRENT-- ))\n"
                  "    case $command in\n");
    for (size_t i = 0; i < command_count; i++) {
        buf_printf(to, "        %s)\n            _arguments '--help[Show the options.]'",
                   command_table[i].name);
        for (int o = 0; o < OPTION_COUNT; o++)
            if (is_completed(&option_table[o], &command_table[i]))
                print_zsh_option(to, (enum option_id)o, command_table[i].command);
        const char *first = words_of(command_table[i].command);
        if (first)
            buf_printf(to, " \\\n                '1:word:{compadd %s; _files}'", first);
        buf_add_c(to, " \\\n                '*:file:_files'\n            ;;\n");
    }
    buf_add_c(to, "    esac\n}\n_postbackd \"$@\"\n");
}

bool help_print_completion(const char *shell)
{
    struct buf text = {0};
    if (strcmp(shell, "bash") == 0)
        print_bash(&text);
    else if (strcmp(shell, "zsh") == 0)
        print_zsh(&text);
    else
        return false;
    help_print(&text);
    return true;
}
