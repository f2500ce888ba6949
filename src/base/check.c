/* Prints a failed assertion as one line on stderr, then aborts, so that a core and the supervisor
 * show it. */
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

noreturn void check_failed(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, what);
    abort();
}
