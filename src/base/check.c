/* Where a failed assertion ends: one line on stderr, then abort, so that a core and the
 * supervisor both see it. */
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

noreturn void check_failed(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, what);
    abort();
}
