/* postbackd health: /readyz of a running server as an exit status, for images without a shell or
 * curl. */
#include "cli/client.h"
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

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
    else if (!strstr(buf_c(&answer), "\"Status\":\"ready\"") &&
             !strstr(buf_c(&answer), "\"Status\":\"failing\""))
        result = command_fail(1, "%.*s: not a postbackd server: %s", STR_ARG(url), buf_c(&answer));
    else
        command_say(stdout, "%s", buf_c(&answer));
    buf_free(&answer);
    client_close(client);
    return result;
}
