/* The bare server: every request answered at once with 202 and 41 bytes of JSON. One loop.
 *
 *   bench_http_server LISTEN-FD [CERT-FILE KEY-FILE]
 *
 * The listening socket is inherited; ends with SIGTERM. bench/http_server.py sets up the load and
 * the yardstick. */
#include "http/server.h"
#include "net/tls.h"

#include <stdio.h>
#include <stdlib.h>

static void handle(void *context, struct http_request *r)
{
    (void)context;
    http_respond(r, 202, "application/json", STR_NONE,
                 STR("{\"Accepted\":1,\"Duplicates\":0,\"Rejected\":[]}"));
}

int main(int argc, char **argv)
{
    char *why = NULL;
    if (argc != 2 && argc != 4) {
        fprintf(stderr, "usage: bench_http_server LISTEN-FD [CERT-FILE KEY-FILE]\n");
        return 2;
    }
    struct http_server_options options = {.handle = handle, .listen_fd = atoi(argv[1])};
    if (argc == 4) {
        options.tls_context = tls_server_new(argv[2], argv[3], true, &why);
        if (!options.tls_context) {
            fprintf(stderr, "%s\n", why);
            return 1;
        }
    }
    struct loop *loop = loop_new(env_real());
    (void)http_server_new(loop, &options);
    loop_run(loop);
    return 0;
}
