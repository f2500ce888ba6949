/* Checks the clock at every call and clients once an hour; returns free memory every 10 s. */
#include "daemon/watch.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/waiter.h"
#include "domain/clock.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/timex.h>

#define WATCH_MAGIC 0x3A7C4001u
#define JUMP_MS 2000
#define CLIENTS_EVERY_MS HOUR_MS
#define CLIENTS_FIRST_MS (10 * MINUTE_MS)
#define TIDY_EVERY_MS 10000
#define ROWS_MOST 20000

struct watch {
    uint32_t magic;
    struct env *env;
    struct store *store;
    struct directory *directory;
    struct waiter answered;
    int64_t wall_less_mono_ms;
    bool is_impossible; /* the clock's time is impossible, and that is logged */
    int64_t clients_due_mono_ms;
    bool is_checking_clients; /* partners are being checked one by one */
    uint32_t checked_no; /* partners with this account number or a higher one are done; 0: none */
    bool has_asked;      /* `report` is under way */
    struct report_query report;
    int64_t tidy_due_mono_ms;
};

bool watch_clock_is_possible(char **ret_why)
{
    int64_t reads_ms = env_system_clock_ms();
    struct buf why = {0};
    if (reads_ms >= LIMIT_WALL_LEAST_MS && reads_ms <= LIMIT_WALL_MOST_MS)
        return true;
    buf_add_c(&why, "the system's clock reads ");
    if (reads_ms >= CLOCK_FIRST_DAY * DAY_MS && reads_ms / DAY_MS <= CLOCK_LAST_DAY)
        clock_print(&why, reads_ms);
    else
        buf_printf(&why, "%" PRId64 " s since 1970", reads_ms / 1000);
    buf_add_c(&why, ", and must be from ");
    clock_print(&why, LIMIT_WALL_LEAST_MS);
    buf_add_c(&why, " to ");
    clock_print(&why, LIMIT_WALL_MOST_MS);
    buf_add_c(&why, ": set it (timedatectl set-time), and let chrony or systemd-timesyncd keep it");
    *ret_why = xstrdup(buf_c(&why));
    buf_free(&why);
    return false;
}

/* The kernel knows whether the clock is synchronized (adjtimex(2)). */
static void warn_unsynchronized(void)
{
    struct timex t = {0};
    int state = adjtimex(&t);
    if (state == TIME_ERROR || (t.status & STA_UNSYNC))
        log_warning("clock_not_synchronized",
                    LOG_C("fix", "run chrony or systemd-timesyncd: signatures carry the time, and "
                                 "events are judged by it"));
}

struct watch *watch_new(struct env *env, struct store *store, struct directory *directory)
{
    struct watch *w = xcalloc(1, sizeof *w);
    w->magic = WATCH_MAGIC;
    w->env = env;
    w->store = store;
    w->directory = directory;
    waiter_init(&w->answered);
    w->wall_less_mono_ms = env_wall_ms(env) - env_mono_ms(env);
    w->clients_due_mono_ms = env_mono_ms(env) + CLIENTS_FIRST_MS;
    warn_unsynchronized();
    return w;
}

void watch_free(struct watch *w)
{
    CHECK_MAGIC(w, WATCH_MAGIC);
    if (w->has_asked) {
        waiter_wait(&w->answered);
        free(w->report.rows);
    }
    waiter_free(&w->answered);
    free(w);
}

static void look_at_clock(struct watch *w)
{
    int64_t now = env_wall_ms(w->env) - env_mono_ms(w->env);
    int64_t jump = now - w->wall_less_mono_ms;
    char *why = NULL;
    bool was_impossible = w->is_impossible;
    w->is_impossible = !watch_clock_is_possible(&why);
    if (w->is_impossible && !was_impossible)
        log_error("clock_impossible", LOG_C("reason", why),
                  LOG_C("effect", "the nearer of the two times is taken for now"));
    free(why);
    if (was_impossible && w->is_impossible) { /* both are the bound, which stands still */
        w->wall_less_mono_ms = now;
        return;
    }
    if (jump > -JUMP_MS && jump < JUMP_MS)
        return;
    log_warning("clock_jumped", LOG_INT("by_ms", jump),
                LOG_C("effect", "waiting callbacks are looked at anew"));
    w->wall_less_mono_ms = now;
}

static bool has_starts_or_none(const struct report_row *rows, size_t count, uint32_t client_no)
{
    int64_t starts = 0, outcomes = 0;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].client_no == client_no) {
            starts += rows[i].survey_starts;
            outcomes += rows[i].survey_outcomes;
        }
    }
    return starts > 0 || outcomes == 0;
}

uint32_t watch_find_startless(const struct report_row *rows, size_t count, uint32_t after)
{
    uint32_t found = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t no = rows[i].client_no;
        if (no > after && (!found || no < found) && rows[i].survey_outcomes > 0 &&
            !has_starts_or_none(rows, count, no))
            found = no;
    }
    return found;
}

static void warn_client(struct watch *w, uint32_t client_no)
{
    struct client *client = directory_client_by_no(w->directory, client_no);
    ASSERT(client); /* clients are never deleted */
    log_warning("survey_starts_missing", LOG_STR("client", client->id),
                LOG_C("fix", "report survey_started for every start: without it this client's "
                             "Active Panelists and ARPDAU are empty"));
    client_unref(client);
}

/* Yesterday and today: at least 24 hours. */
static void ask_report(struct watch *w)
{
    int32_t today = clock_day(env_wall_ms(w->env));
    w->report = (struct report_query){
        .done.run = waiter_wake,
        .reply_to = &w->answered.executor,
        .account_no = w->checked_no,
        .first_day = today - 1,
        .last_day = today,
        .after_day = INT32_MIN,
        .limit = ROWS_MOST,
    };
    w->has_asked = true;
    store_report(w->store, &w->report);
}

/* A partner whose cluster is unavailable is asked about again in an hour. */
static void take_report(struct watch *w)
{
    struct report_query *q = &w->report;
    uint32_t client_no = 0;
    w->has_asked = false;
    while (q->status == STORE_OK &&
           (client_no = watch_find_startless(q->rows, q->count, client_no)))
        warn_client(w, client_no);
    free(q->rows);
    q->rows = NULL;
}

/* Waits for nothing: the main thread must handle signals while a database is unavailable. */
static void check_clients(struct watch *w)
{
    struct partner *partner;
    if (w->has_asked) {
        if (waiter_try(&w->answered))
            take_report(w);
        return;
    }
    w->is_checking_clients = leases_first(store_leases(w->store)) &&
                             directory_list_partners(w->directory, w->checked_no, &partner, 1) > 0;
    if (!w->is_checking_clients)
        return;
    w->checked_no = partner->account_no;
    partner_unref(partner);
    ask_report(w);
}

void watch_look(struct watch *w)
{
    CHECK_MAGIC(w, WATCH_MAGIC);
    look_at_clock(w);
    int64_t now = env_mono_ms(w->env);
    if (now >= w->tidy_due_mono_ms) {
        w->tidy_due_mono_ms = now + TIDY_EVERY_MS;
        alloc_tidy();
    }
    if (now >= w->clients_due_mono_ms && !w->is_checking_clients) {
        w->clients_due_mono_ms = now + CLIENTS_EVERY_MS;
        w->is_checking_clients = true;
        w->checked_no = 0;
    }
    if (w->is_checking_clients)
        check_clients(w);
}
