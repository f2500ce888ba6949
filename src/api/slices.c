/* Each slice posts a task for the next one to its own loop; see slices.h. */
#include "api/slices.h"

#include "base/check.h"

static void next_slice(struct task *task)
{
    struct slices *s = CONTAINER_OF(task, struct slices, task);
    size_t most = s->left < SLICE_ITEMS ? s->left : SLICE_ITEMS;
    bool more = s->print(s, most);
    s->left -= most;
    if (more && s->left > 0)
        executor_post(s->executor, &s->task);
    else
        s->end(s, more);
}

void slices_begin(struct slices *s)
{
    ASSERT(s->left > 0);
    s->task.run = next_slice;
    next_slice(&s->task);
}
