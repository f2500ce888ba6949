/* A line when each step of an upgrade begins, and one every few seconds while it lasts. */
#include "daemon/upgrade.h"

#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/supervisor.h"

#define MS_BETWEEN_LINES 5000

bool upgrade_goes_on(void *watch, const struct store_upgrade *at)
{
    struct upgrade_watch *w = watch;
    int64_t now_ms = env_mono_ms(w->env);
    if (w->step != at->step || now_ms - w->told_mono_ms >= MS_BETWEEN_LINES) {
        w->step = at->step;
        w->told_mono_ms = now_ms;
        log_info("store_upgrade", LOG_INT("from", at->from), LOG_INT("to", at->to),
                 LOG_INT("step", at->step), LOG_INT("events", at->events), LOG_INT("of", at->of));
        supervisor_tell("EXTEND_TIMEOUT_USEC=120000000"); /* as long as it goes on */
    }
    return !daemon_stop_asked();
}
