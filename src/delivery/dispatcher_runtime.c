/* The real implementation of dispatcher_runtime.h: one loop, one sender. */
#include "delivery/dispatcher_runtime.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

struct loop_runtime {
    struct dispatcher_runtime runtime;
    struct loop *loop;
    struct sender *sender;
    struct timer timer;
    struct loop_hook hook;
};

static struct loop_runtime *of(struct dispatcher_runtime *runtime)
{
    return CONTAINER_OF(runtime, struct loop_runtime, runtime);
}

static int64_t wall_ms(struct dispatcher_runtime *runtime)
{
    return loop_wall_ms(of(runtime)->loop);
}

static int64_t mono_ms(struct dispatcher_runtime *runtime)
{
    return loop_mono_ms(of(runtime)->loop);
}

static int64_t clock_mono_ms(struct dispatcher_runtime *runtime)
{
    return env_mono_ms(loop_env(of(runtime)->loop));
}

static void start(struct dispatcher_runtime *runtime, struct exchange *x)
{
    sender_start(of(runtime)->sender, x);
}

static void cancel(struct dispatcher_runtime *runtime, struct exchange *x)
{
    sender_cancel(of(runtime)->sender, x);
}

static void wake_at(struct dispatcher_runtime *runtime, int64_t at_mono_ms)
{
    struct loop_runtime *l = of(runtime);
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
    struct loop_runtime *l = CONTAINER_OF(hook, struct loop_runtime, hook);
    if (l->runtime.on_tick_end)
        l->runtime.on_tick_end(l->runtime.context);
    sender_flush(l->sender);
}

struct dispatcher_runtime *dispatcher_runtime_new(struct loop *loop, struct sender *sender)
{
    struct loop_runtime *l = xcalloc(1, sizeof(*l));
    l->loop = loop;
    l->sender = sender;
    l->timer.fire = fire;
    l->hook.run = tick_end;
    l->runtime = (struct dispatcher_runtime){
        .executor = loop_executor(loop),
        .rng = loop_rng(loop),
        .wall_ms = wall_ms,
        .mono_ms = mono_ms,
        .clock_mono_ms = clock_mono_ms,
        .start = start,
        .cancel = cancel,
        .wake_at = wake_at,
    };
    loop_at_tick_end(loop, &l->hook);
    return &l->runtime;
}

void dispatcher_runtime_free(struct dispatcher_runtime *runtime)
{
    free(of(runtime));
}
