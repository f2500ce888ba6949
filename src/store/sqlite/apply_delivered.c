/* What becomes of most callbacks: one that waited in its lane is delivered, and of its row
 * nothing but state, queue, its place in the schedule, attempts and counted changes. Rows that lie
 * together are changed by one statement that goes through them, asks functions of this file which
 * of them are meant, and tells them the rest of the row; so each is looked up once, behind the
 * last, and nothing is begun anew for it: 0.69 of the applier's instructions
 * (docs/decisions/hot-path.md). All others are left to apply_older.c. */
#include "store/sqlite/apply.h"

#include "domain/clock.h"

/* Rows of others that a statement may pass between two that are meant: passing so many costs what
 * beginning anew does. */
#define GAP_MOST 16

enum argument {
    ARG_ID,
    ARG_APP,
    ARG_LANE,
    ARG_STATE,
    ARG_REASON,
    ARG_QUEUE,
    ARG_MANUAL,
    ARG_DUE,
    ARG_ATTEMPTS,
    ARG_SEGMENT,
    ARG_ACCEPTED,
    ARG_COUNTED,
    ARG_OCCURRED,
    ARG_IS_TEST,
    ARG_REWARD,
    ARG_REVENUE,
    ARG_TYPE,
    ARG_COUNT
};
#define ARGUMENTS                                                                                  \
    "id,app_no,lane,state,reason,queue,manual,due_ms,attempts,segment,"                            \
    "accepted_ms,counted,occurred_ms,is_test,reward_micros,revenue_micros,type"

/* NULL: none. Ids are asked for in their order, each as often as SQLite likes: who has been told of
 * one gets the same answer again. */
static struct apply_row *find(struct apply_row **at, const struct apply_row *end,
                              sqlite3_value *value)
{
    uint64_t id = (uint64_t)sqlite3_value_int64(value);
    while (*at < end && (*at)->id < id)
        ++*at;
    return *at < end && (*at)->id == id ? *at : NULL;
}

static void has_outcome(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    ASSERT(argc == 1);
    struct apply *a = sqlite3_user_data(context);
    sqlite3_result_int(context, find(&a->delivering.at, a->delivering.end, argv[0]) != NULL);
}

/* Whether the statement says all that has become of the callback. */
static bool is_simple(sqlite3_value **row, const struct mem_entry *entry)
{
    const struct callback_status *after = &entry->status;
    return after->state == CALLBACK_DELIVERED && after->wait == WAIT_NOT &&
           entry->counted == COUNTED_DELIVERED &&
           sqlite3_value_int64(row[ARG_STATE]) == CALLBACK_PENDING &&
           sqlite3_value_int64(row[ARG_QUEUE]) == WAIT_DUE &&
           sqlite3_value_int64(row[ARG_REASON]) == after->reason &&
           sqlite3_value_int64(row[ARG_MANUAL]) == after->manual &&
           sqlite3_value_int64(row[ARG_ATTEMPTS]) + 1 == after->attempts &&
           sqlite3_value_int64(row[ARG_SEGMENT]) != 0; /* not erased */
}

/* What it moves besides its own row. */
static void count_delivered(struct apply *a, sqlite3_value **row, uint64_t id)
{
    struct apply_callback callback = {
        .id = id,
        .key = {.account_no = account_of_id(id),
                .app_no = (uint32_t)sqlite3_value_int64(row[ARG_APP]),
                .day = clock_day(sqlite3_value_int64(row[ARG_OCCURRED])),
                .lane = (enum lane_kind)sqlite3_value_int64(row[ARG_LANE]),
                .is_test = sqlite3_value_int64(row[ARG_IS_TEST]) != 0},
        .type = (enum event_type)sqlite3_value_int64(row[ARG_TYPE]),
        .reward_micros = sqlite3_value_int64(row[ARG_REWARD]),
        .revenue_micros = sqlite3_value_int64(row[ARG_REVENUE]),
        .accepted_ms = sqlite3_value_int64(row[ARG_ACCEPTED]),
        .segment = (uint32_t)sqlite3_value_int64(row[ARG_SEGMENT]),
        .counted = (unsigned)sqlite3_value_int64(row[ARG_COUNTED]),
    };
    lane_no lane = lane_of(callback.key.app_no, callback.key.lane);
    apply_queue_done(a, lane, sqlite3_value_int64(row[ARG_DUE]), id);
    apply_moved(a, &callback, CALLBACK_PENDING, CALLBACK_DELIVERED, COUNTED_DELIVERED);
}

static void is_delivered(sqlite3_context *context, int argc, sqlite3_value **row)
{
    ASSERT(argc == ARG_COUNT);
    struct apply *a = sqlite3_user_data(context);
    struct apply_row *at = find(&a->delivering.at, a->delivering.end, row[ARG_ID]);
    if (!at || (!at->is_settled && !is_simple(row, at->entry)))
        return; /* NULL, so it is not */
    if (!at->is_settled)
        count_delivered(a, row, at->id);
    at->is_settled = true;
    sqlite3_result_int(context, 1);
}

static void add_function(struct apply *a, const char *name, int argc,
                         void (*function)(sqlite3_context *, int, sqlite3_value **))
{
    ASSERT(sqlite3_create_function_v2(a->sql.db, name, argc, SQLITE_UTF8, a, function, NULL, NULL,
                                      NULL) == SQLITE_OK);
}

void apply_delivered_prepare(struct apply *a)
{
    add_function(a, "has_outcome", 1, has_outcome);
    add_function(a, "is_delivered", ARG_COUNT, is_delivered);
    a->delivering.set = sql_prepare_f(
        &a->sql,
        "UPDATE OR FAIL event SET state=%d,queue=%d,failed_attempts=0,slot=0,due_ms=0,"
        "attempts=attempts+1,counted=counted|%u WHERE id>=? AND id<=?"
        " AND has_outcome(id) AND is_delivered(" ARGUMENTS ")",
        CALLBACK_DELIVERED, WAIT_NOT, COUNTED_DELIVERED);
}

size_t apply_delivered(struct apply *a, struct apply_row *rows, size_t count)
{
    size_t left = 0;
    for (size_t start = 0, i = 1; i <= count; i++) {
        if (i < count && rows[i].id - rows[i - 1].id <= GAP_MOST)
            continue;
        a->delivering.at = &rows[start];
        a->delivering.end = &rows[i];
        sql_bind_int(a->delivering.set, 1, (int64_t)rows[start].id);
        sql_bind_int(a->delivering.set, 2, (int64_t)rows[i - 1].id);
        sql_run(&a->sql, a->delivering.set);
        start = i;
    }
    for (size_t i = 0; i < count; i++)
        if (!rows[i].is_settled)
            rows[left++] = rows[i];
    return left;
}
