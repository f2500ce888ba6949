/* Changes of accounts, one at a time on a thread of their own: judge, make durable, then let
 * everybody see. Two changes never judge the same state, and a loop never waits for a disk. */
#pragma once

#include "accounts/changes.h"
#include "api/call.h"
#include "store/store.h"

struct control;

struct control_options {
    struct accounts *accounts;
    struct store *store;
    struct directory *directory;
    /* On the control thread. gone_settled: after each control_disable_lane, whatever came of it. */
    void (*app_changed)(void *context, uint32_t app_no);
    void (*gone_settled)(void *context, uint32_t app_no, enum lane_kind kind);
    void *context;
};

struct control *control_new(const struct control_options *options);
/* Runs what was asked for, then ends. Before the store closes. */
void control_free(struct control *control);

/* Marks a lane disabled after a 410 from `url` (copied), unless it has another one by now. Any
 * thread; durable soon after. */
void control_disable_lane(struct control *control, uint32_t app_no, enum lane_kind kind,
                          struct str url);

/* One change asked for by a call. Fill in by control_ask; it answers the call in every case. */
struct mutation {
    struct call *c;
    const struct json *body;   /* NULL: none */
    struct accounts *accounts; /* for judge */
    struct change change;
    /* On the control thread: makes the change, or says why not (faults in c->problems). */
    enum change_result (*judge)(struct mutation *m);
    /* On the control thread, after it is applied: the answer's body; NULL: none. */
    void (*render)(struct mutation *m, struct json_writer *w);
    int status;           /* of the answer */
    const char *location; /* "/api/v1/apps/" for a 201's Location, before the id; NULL: none */

    /* Control's own. */
    struct task task;
    struct control *control;
    enum change_result result;
    enum store_status stored;
    struct buf answer, headers;
};

/* From a loop. The mutation lives in the call's arena. */
void control_ask(struct control *control, struct mutation *m);
