/* Prints a long answer in slices of SLICE_ITEMS items. Between two slices the loop runs other
 * tasks: printing 500 callbacks in one piece would block it for more than a millisecond. */
#pragma once

#include "base/executor.h"

#include <stdbool.h>

#define SLICE_ITEMS 50

struct slices {
    struct task task;
    struct executor *executor; /* of the loop whose thread calls slices_begin */
    size_t left;               /* items that may still be printed */
    /* Prints at most `most` items. True: there are more, and it is called again while `left`
     * allows. */
    bool (*print)(struct slices *s, size_t most);
    void (*end)(struct slices *s, bool more); /* once, after the last slice; may free s */
};

/* Prints the first slice at once. */
void slices_begin(struct slices *s);
