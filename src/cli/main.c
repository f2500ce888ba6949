/*
 * The entry of the binary: finds the command named by the first argument and runs it.
 */
#include <stdio.h>
#include <string.h>

static int usage(FILE *out, int status)
{
    fputs("usage: postbackd --version | --help\n", out);
    return status;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        puts("postbackd " POSTBACKD_VERSION);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return usage(stdout, 0);
    return usage(stderr, 2);
}
