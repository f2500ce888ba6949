/* Callbacks by their number. */
#include "lane_callback.h"

struct callback *callback_numbered(uint64_t event_no, int64_t accepted_ms)
{
    struct event e = {
        .account_no = 1,
        .app_no = 1,
        .event_no = event_no,
        .lane = LANE_SUCCESS,
        .state = CALLBACK_PENDING,
        .accepted_ms = accepted_ms,
        .due_ms = accepted_ms,
        .event_id = STR("e-1"),
        .panelist_id = STR("p"),
        .body = STR("{\"Sig\":\"00000000000000000000000000000000\"}"),
    };
    struct callback_life life = life_accept(&e, NULL);
    return callback_new(&e, &life);
}
