/* The real implementation of outside.h: one loop, one sender. */
#include "delivery/outside.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

struct on_loop {
    struct outside outside;
    struct loop *loop;
    struct sender *sender;
    struct timer timer;
    struct loop_hook hook;
};

static struct on_loop *of(struct outside *outside)
{
    return CONTAINER_OF(outside, struct on_loop, outside);
}

static int64_t wall_ms(struct outside *outside)
{
    return loop_wall_ms(of(outside)->loop);
}

static int64_t mono_ms(struct outside *outside)
{
    return loop_mono_ms(of(outside)->loop);
}

static void start(struct outside *outside, struct exchange *x)
{
    sender_start(of(outside)->sender, x);
}

static void cancel(struct outside *outside, struct exchange *x)
{
    sender_cancel(of(outside)->sender, x);
}

static void wake_at(struct outside *outside, int64_t at_mono_ms)
{
    struct on_loop *l = of(outside);
    if (at_mono_ms == INT64_MAX)
        loop_timer_clear(l->loop, &l->timer);
    else
        loop_timer_set(l->loop, &l->timer, at_mono_ms);
}

/* The work is done at the end of the tick that this timer causes. */
static void fire(struct timer *timer)
{
    (void)timer;
}

static void tick_end(struct loop_hook *hook)
{
    struct on_loop *l = CONTAINER_OF(hook, struct on_loop, hook);
    if (l->outside.on_tick_end)
        l->outside.on_tick_end(l->outside.context);
    sender_flush(l->sender);
}

struct outside *outside_on_loop(struct loop *loop, struct sender *sender)
{
    struct on_loop *l = xcalloc(1, sizeof(*l));
    l->loop = loop;
    l->sender = sender;
    l->timer.fire = fire;
    l->hook.run = tick_end;
    l->outside = (struct outside){
        .executor = loop_executor(loop),
        .rng = loop_rng(loop),
        .wall_ms = wall_ms,
        .mono_ms = mono_ms,
        .start = start,
        .cancel = cancel,
        .wake_at = wake_at,
    };
    loop_at_tick_end(loop, &l->hook);
    return &l->outside;
}

void outside_on_loop_free(struct outside *outside)
{
    free(of(outside));
}
