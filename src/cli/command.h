/* The commands of the binary: one table for dispatch, --help and the manual page. */
#pragma once

#include "cli/option.h"

#include <stdio.h>

struct command_entry {
    enum command command;
    const char *name;
    const char *operands;           /* "FILE" or "" */
    const char *summary;            /* one line */
    const char *details;            /* a paragraph for COMMAND --help; may be "" */
    int (*run)(struct settings *s); /* the exit status */
};

extern const struct command_entry command_table[];
extern const size_t command_count;

/* Exit statuses: 0 done, 1 failed (or does not match), 2 wrong usage. */
#define EXIT_USAGE 2

/* Prints one line of plain text (base/plain_text.h): text from a server, a file or an argument
 * cannot move the cursor or begin a line. */
void command_say(FILE *to, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same on stderr, after "postbackd: "; returns the status. */
int command_fail(int status, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* For a line of an input file: a C string would end there, and UTF-16 has NULs in every line. */
#define LINE_HAS_NUL "has a NUL byte: save the file as UTF-8"

void help_print_all(void);
void help_print_command(const struct command_entry *c);
void help_print(struct buf *text); /* prints to standard output, and frees the text */
/* A manual page in roff, for man(1): section 1, 5 or 8. False: there is no such page. */
MUST_CHECK bool help_print_manual(const char *section);
/* Prints the completion script of bash or zsh. False: another shell. */
MUST_CHECK bool help_print_completion(const char *shell);

int command_serve(struct settings *s);
int command_check(struct settings *s);
int command_health(struct settings *s);
int command_demo(struct settings *s);
int command_receive(struct settings *s);
int command_listen(struct settings *s);
int command_verify(struct settings *s);
int command_import(struct settings *s);
int command_export(struct settings *s);
int command_reconcile(struct settings *s);
int command_backup(struct settings *s);
int command_user(struct settings *s);
int command_migrate(struct settings *s);
int command_copy(struct settings *s);
int command_move(struct settings *s);
int command_clusters(struct settings *s);
