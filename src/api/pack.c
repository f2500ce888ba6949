/* Each slice posts a task for the next one to its own loop; see pack.h. */
#include "api/pack.h"

static void next_slice(struct task *task)
{
    struct pack *p = CONTAINER_OF(task, struct pack, task);
    size_t left = p->in.n - p->at;
    size_t n = left < ENCODER_SLICE_BYTES ? left : ENCODER_SLICE_BYTES;
    encoder_add(p->encoder, (struct str){p->in.p + p->at, n}, n == left ? p->flush : ENCODER_MORE,
                &p->out);
    p->at += n;
    if (n < left) {
        executor_post(p->executor, &p->task);
    } else {
        buf_free(&p->in);
        p->done(p);
    }
}

void pack_begin(struct pack *p, struct str bytes)
{
    p->out = (struct buf){0};
    if (bytes.n <= ENCODER_SLICE_BYTES) {
        encoder_add(p->encoder, bytes, p->flush, &p->out);
        p->done(p);
        return;
    }
    p->in = (struct buf){0};
    p->at = 0;
    buf_add_str(&p->in, bytes);
    p->task.run = next_slice;
    executor_post(p->executor, &p->task);
}
