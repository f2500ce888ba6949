/* Partners get a message when an endpoint stops working, and when it works again. A pause that they
 * asked for, and an app that they switched off, make none. */
#include "daemon/notify_operations.h"

void notify_lane(struct operations *operations, const struct lane_notice *notice)
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
    if (event.state == OPERATIONS_SUSPENDED)
        return;
    event.topic = OPERATIONS_OF_DISABLED; /* callbacks wait without an end: the operator, too */
    operations_tell(operations, &event);
}

void notify_certificate(struct operations *operations, const struct app *app, enum lane_kind kind,
                        int64_t expires_ms, bool soon)
{
    operations_tell(operations, &(struct operations_event){
                                    .topic = OPERATIONS_OF_CERTIFICATE,
                                    .account_no = app->terms.account_no,
                                    .app_no = app->app_no,
                                    .kind = kind,
                                    .state = soon ? OPERATIONS_EXPIRING : OPERATIONS_WELL,
                                    .expires_ms = expires_ms,
                                });
}

void notify_listener(struct operations *operations, const char *node, int64_t expires_ms, bool soon)
{
    operations_tell(operations, &(struct operations_event){
                                    .topic = OPERATIONS_OF_LISTENER,
                                    .node = node,
                                    .state = soon ? OPERATIONS_EXPIRING : OPERATIONS_WELL,
                                    .expires_ms = expires_ms,
                                });
}

void notify_books(struct operations *operations, bool wrong, const char *example, int64_t now_ms)
{
    operations_tell(operations, &(struct operations_event){
                                    .topic = OPERATIONS_OF_BOOKS,
                                    .state = wrong ? OPERATIONS_BOOKS_WRONG : OPERATIONS_WELL,
                                    .since_ms = now_ms,
                                    .error_ms = now_ms,
                                    .detail = example,
                                });
}
