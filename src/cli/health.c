/* postbackd health: /readyz of a running server as an exit status, for images without a shell or
 * curl. */
#include "cli/client.h"
#include "cli/command.h"

#include "json/reader.h"

#include <stdio.h>

/* Any server may answer 200. */
static bool is_readyz(const struct buf *answer)
{
    struct arena arena = {0};
    struct json *object = NULL;
    struct str why, status = STR_NONE;
    if (json_parse(&arena, buf_str(answer), &object, &why))
        status = json_member_text(object, "Status");
    bool is = str_is(status, "ready") || str_is(status, "failing");
    arena_free(&arena);
    return is;
}

int command_health(struct settings *s)
{
    struct str url = settings_text(s, OPTION_URL);
    struct client_session *client = client_open_server(s, STR_NONE);
    struct buf answer = {0};
    int status = client_request(client, "GET", "/readyz", "", STR_NONE, &answer), result = 0;
    if (status == 0)
        result = command_fail(1, "%.*s: %s", STR_ARG(url), buf_c(&answer));
    else if (status != 200)
        result = command_fail(1, "%.*s: status %d: %s", STR_ARG(url), status, buf_c(&answer));
    else if (!is_readyz(&answer))
        result = command_fail(1, "%.*s: not a postbackd server: %s", STR_ARG(url), buf_c(&answer));
    else
        command_say(stdout, "%s", buf_c(&answer));
    buf_free(&answer);
    client_close(client);
    return result;
}
