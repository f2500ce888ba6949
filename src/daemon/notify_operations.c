/* Partners get a message when an endpoint stops working, and when it works again. A pause that they
 * asked for, and an app that they switched off, make none. */
#include "daemon/notify_operations.h"

#include "daemon/daemon_inside.h"
#include "services/certificate_watch.h"

void notify_lane(struct operations *operations, const struct lane_notice *notice)
{
    struct operations_event event = {
        .account_no = notice->app->terms.account_no,
        .app_no = notice->app->app_no,
        .kind = notice->kind,
        .since_ms = notice->since_ms,
        .class = notice->class,
        .status = notice->status,
        .has_format = true,
        .format = notice->format,
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
    event.topic = OPERATIONS_OF_DISABLED; /* callbacks wait for ever: tell the operator, too */
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

/* Only the node that has the app reports it and sends the message. */
static bool on_client_certificate(void *context, const struct app *app, int64_t expires_ms,
                                  bool soon)
{
    const struct daemon *d = context;
    struct operations_event event = {
        .topic = OPERATIONS_OF_CLIENT_CERTIFICATE,
        .account_no = app->terms.account_no,
        .app_no = app->app_no,
        .state = soon ? OPERATIONS_EXPIRING : OPERATIONS_WELL,
        .expires_ms = expires_ms,
    };
    if (!leases_have(store_leases(d->store), lane_of(app->app_no, LANE_NONE)))
        return false;
    operations_tell(d->operations, &event);
    event.topic = OPERATIONS_OF_CLIENT_CERTIFICATE_OPERATORS;
    operations_tell(d->operations, &event);
    return true;
}

static void on_listener_certificate(void *context, int64_t expires_ms, bool soon)
{
    const struct daemon *d = context;
    operations_tell(d->operations, &(struct operations_event){
                                       .topic = OPERATIONS_OF_LISTENER,
                                       .node = d->options.node_name,
                                       .state = soon ? OPERATIONS_EXPIRING : OPERATIONS_WELL,
                                       .expires_ms = expires_ms,
                                   });
}

void notify_of_own_certificates(struct daemon *d)
{
    certificate_watch_set_callbacks(d->certificates, &(struct certificate_callbacks){
                                                         .on_listener = on_listener_certificate,
                                                         .on_client = on_client_certificate,
                                                         .context = d,
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
