/* The state of a lane as people see it (lane_state.h): logs and reports its changes, and the first
 * success of an open lane. */
#include "delivery/dispatcher.h"

#include "base/log.h"

static enum lane_state state_of(const struct lane *lane, const struct lane_now *now)
{
    switch (lane_mode(lane)) {
    case LANE_HALTED: return LANE_STATE_APP_DISABLED;
    case LANE_DRAINING: return LANE_STATE_NOT_CONFIGURED;
    case LANE_HELD: return LANE_STATE_DISABLED;
    case LANE_SHUT: return lane->window.suspended ? LANE_STATE_SUSPENDED : LANE_STATE_HOST_DOWN;
    case LANE_LEAVING:
    case LANE_OPEN: break;
    }
    return lane->pace.paused_until_mono_ms > now->mono_ms ? LANE_STATE_PAUSED : LANE_STATE_OPEN;
}

static void log_change(const struct lane *lane, const struct app *app, enum lane_state before,
                       const struct lane_notice *notice, const char *fix)
{
    log_info("lane_state", LOG_STR("app", app->id), LOG_C("endpoint", lane_kind_name(notice->kind)),
             LOG_C("from", lane_state_name(before)), LOG_C("to", lane_state_name(notice->state)),
             LOG_C("class", attempt_class_name(notice->class)), LOG_INT("status", notice->status),
             LOG_C("detail", notice->detail), LOG_C("fix", fix),
             LOG_INT("waiting_in_memory", lane->in_ram));
}

static void tell(struct dispatcher *d, const struct lane *lane, const struct app *app,
                 enum lane_state before)
{
    const struct health *h = lane->health;
    bool failed = h && h->last_error_ms && lane->reported.state != LANE_STATE_OPEN;
    struct lane_notice notice = {
        .app = app,
        .kind = lane_kind_of(lane->no),
        .state = lane->reported.state,
        .since_ms = lane->reported.since_ms,
        .class = failed ? h->last_class : ATTEMPT_OK,
        .status = failed ? h->last_status : 0,
        .format = failed ? h->last_format : REQUEST_JSON,
        .error_ms = failed ? h->last_error_ms : 0,
        .detail = failed && h->last_detail ? h->last_detail : "",
    };
    const char *fix = failed ? attempt_fix(notice.class, notice.status, notice.format) : "";
    if (before != lane->reported.state)
        log_change(lane, app, before, &notice, fix);
    if (d->delivery->options.on_lane_state)
        d->delivery->options.on_lane_state(d->delivery->options.context, &notice);
}

static void tell_with_app(struct dispatcher *d, struct lane *lane, enum lane_state before)
{
    struct app *app = directory_app_by_no(d->delivery->options.directory, lane_app_no(lane->no));
    if (!app)
        return;
    tell(d, lane, app, before);
    app_unref(app);
}

void dispatcher_note_state(struct dispatcher *d, struct lane *lane, const struct lane_now *now)
{
    enum lane_state state = state_of(lane, now), before = lane->reported.state;
    if (state == before)
        return;
    lane->reported = (struct lane_reported){.state = state, .since_ms = now->wall_ms};
    tell_with_app(d, lane, before);
}

void dispatcher_note_success(struct dispatcher *d, struct lane *lane)
{
    if (lane->reported.success || lane->reported.state != LANE_STATE_OPEN)
        return;
    lane->reported.success = true;
    tell_with_app(d, lane, LANE_STATE_OPEN);
}

void dispatcher_note_forgotten(struct dispatcher *d, const struct lane *lane)
{
    enum lane_state before = lane->reported.state;
    /* Others are open, or outlast the lane: the host's state, and what the settings cause. */
    if (before != LANE_STATE_PAUSED && before != LANE_STATE_SUSPENDED)
        return;
    struct app *app = directory_app_by_no(d->delivery->options.directory, lane_app_no(lane->no));
    if (!app)
        return;
    struct lane_notice notice = {
        .kind = lane_kind_of(lane->no),
        .state = LANE_STATE_OPEN,
        .class = ATTEMPT_OK,
        .detail = "forgotten, as no callbacks wait: the next one is sent at once",
    };
    log_change(lane, app, before, &notice, "");
    app_unref(app);
}
