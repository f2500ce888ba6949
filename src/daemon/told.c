/* Partners are told of an endpoint that stopped working and of one that works again; a pause they
 * have asked for, and an app they have switched off, are no news to them. */
#include "daemon/told.h"

void told_lane(struct operations *operations, const struct lane_notice *notice)
{
    struct operations_event event = {
        .account_no = notice->app->terms.account_no,
        .app_no = notice->app->app_no,
        .kind = notice->kind,
        .since_ms = notice->since_ms,
        .class = notice->class,
        .status = notice->status,
        .error_ms = notice->error_ms,
        .detail = notice->detail,
    };
    switch (notice->state) {
    case LANE_STATE_OPEN: event.state = OPERATIONS_WELL; break;
    case LANE_STATE_SUSPENDED:
    case LANE_STATE_HOST_DOWN: event.state = OPERATIONS_SUSPENDED; break;
    case LANE_STATE_DISABLED: event.state = OPERATIONS_DISABLED; break;
    case LANE_STATE_PAUSED:
    case LANE_STATE_NOT_CONFIGURED:
    case LANE_STATE_APP_DISABLED: return;
    }
    operations_tell(operations, &event);
}
