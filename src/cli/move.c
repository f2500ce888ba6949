/* postbackd move: moves a PostgreSQL database to another server while daemons use it. */
#include "cli/command.h"
#include "cli/store_name.h"
#include "daemon/daemon.h"
#include "store/store_move.h"

#include <stdio.h>
#include <stdlib.h>

static void say(void *context, const char *line)
{
    (void)context;
    puts(line);
    fflush(stdout);
}

static bool goes_on(void *context)
{
    (void)context;
    return !daemon_stop_asked();
}

int command_move(struct settings *s)
{
    struct store_name from, to;
    struct str wrong;
    char *why = NULL;
    if (!store_names_read(s, &from, &to, &wrong))
        return command_fail(EXIT_USAGE, "%.*s", STR_ARG(wrong));
    if (!from.uri || !to.uri)
        return command_fail(EXIT_USAGE,
                            "%s: move takes postgresql://...; for sqlite:DIR there is "
                            "`postbackd copy`.",
                            from.uri ? "--to" : "--store");
    struct move_options options = {
        .from = from.uri,
        .to = to.uri,
        .finish = str_is(settings_text(s, OPTION_FINISH), "true"),
        .say = say,
        .goes_on = goes_on,
    };
    daemon_block_signals();
    enum move_end end = store_move(&options, &why);
    int status = end == MOVE_DONE      ? 0
                 : end == MOVE_STOPPED ? command_fail(1, "stopped: the same command goes on.")
                                       : command_fail(1, "%s", why);
    free(why);
    return status;
}
