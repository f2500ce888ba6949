/* Slices by posting to the own loop: see pack.h. */
#include "api/pack.h"

static void next_slice(struct task *task)
{
    struct pack *p = CONTAINER_OF(task, struct pack, task);
    size_t left = p->in.n - p->at;
    size_t n = left < GZIP_SLICE_BYTES ? left : GZIP_SLICE_BYTES;
    gzip_add(p->gzip, (struct str){p->in.p + p->at, n}, n == left ? p->flush : GZIP_MORE, &p->out);
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
    if (bytes.n <= GZIP_SLICE_BYTES) {
        gzip_add(p->gzip, bytes, p->flush, &p->out);
        p->done(p);
        return;
    }
    p->in = (struct buf){0};
    p->at = 0;
    buf_add_str(&p->in, bytes);
    p->task.run = next_slice;
    executor_post(p->executor, &p->task);
}
