/* The SQLite store by itself: what every store must do is the conformance suite's; here are the
 * ways through its memtable, its journal and SQLite, and what a kill leaves. */
#include "sqlite_store.h"

/* --- tests --------------------------------------------------------------------------------------
 */

static void accepts_once(void)
{
    begin();
    struct verdict v = submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    CHECK_EQ_INT(v.kind, VERDICT_ACCEPTED);
    CHECK_EQ_UINT(v.event_no, 1);
    for (int round = 0; round < 3; round++) {
        v = submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
        CHECK_EQ_INT(v.kind, VERDICT_DUPLICATE);
        CHECK_EQ_UINT(v.event_no, 1);
        CHECK_EQ_INT(submit_new(EVENT_SURVEY_COMPLETED, "e-1", "bob").kind, VERDICT_CONFLICT);
        if (round == 0)
            (void)report(false); /* now it is in SQLite */
        else
            reopen();
    }
    CHECK_EQ_UINT(submit_new(EVENT_SURVEY_COMPLETED, "e-2", "ann").event_no, 2);
    end();
}

static void hands_out_what_it_owes(void)
{
    begin();
    (void)submit_new(EVENT_SURVEY_STARTED, "s-1", "ann");
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    CHECK_EQ_UINT(sink.count, 1);
    if (sink.count == 1) {
        CHECK_EQ_UINT(sink.items[0]->event_no, 2);
        CHECK_STR(sink.items[0]->event_id, "e-1");
        CHECK(sink.items[0]->body.n > 50);
        CHECK_EQ_INT(sink.items[0]->place.due_ms, NOW_MS);
    }
    end();
}

static void pages_by_due_time(void)
{
    begin();
    struct due_page p;
    CHECK_CSTR(page(LANE_SUCCESS, NOW_MS, &p), "");
    CHECK_EQ_INT(p.next_due_ms, INT64_MAX);
    char id[16];
    for (int i = 1; i <= 13; i++) {
        snprintf(id, sizeof id, "e-%d", i);
        (void)submit_new(EVENT_SURVEY_COMPLETED, id, "ann");
    }
    CHECK_CSTR(page(LANE_SUCCESS, NOW_MS, &p), "1 2 3 4 5 6 7 8 9 10");
    CHECK(p.more);
    CHECK_EQ_UINT(p.last.event_no, 10);
    record(1, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 1);
    record(2, LANE_SUCCESS, CALLBACK_PENDING, NOW_MS + 5000, 1);
    CHECK_CSTR(page(LANE_SUCCESS, NOW_MS, &p), "3 4 5 6 7 8 9 10 11 12");
    for (uint64_t i = 3; i <= 13; i++)
        record(i, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 1);
    CHECK_CSTR(page(LANE_SUCCESS, NOW_MS, &p), "");
    CHECK(!p.more);
    CHECK_EQ_INT(p.next_due_ms, NOW_MS + 5000);
    CHECK_CSTR(page(LANE_SUCCESS, NOW_MS + 5000, &p), "2");
    CHECK_CSTR(page(LANE_OFFER, NOW_MS + 5000, &p), "");
    end();
}

static void keeps_the_log_of_attempts(void)
{
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    record(1, LANE_SUCCESS, CALLBACK_PENDING, NOW_MS + 5000, 1);
    (void)report(false);
    record(1, LANE_SUCCESS, CALLBACK_DEAD, 0, 2);
    for (int round = 0; round < 2; round++) {
        struct callback_get g = get("e-1");
        CHECK_EQ_INT(g.status, STORE_OK);
        CHECK_EQ_INT(g.row.state, CALLBACK_DEAD);
        CHECK_EQ_INT(g.row.attempts, 2);
        CHECK_EQ_UINT(g.row.log_count, 2);
        if (g.row.log_count == 2) {
            CHECK_EQ_INT(g.row.log[1].number, 2);
            CHECK_STR(g.row.log[1].detail, "it said 500");
            CHECK_BYTES(g.row.log[1].response_body.p, g.row.log[1].response_body.n, "no\0body", 7);
        }
        CHECK_STR(g.row.event.panelist_id, "ann");
        CHECK_EQ_INT(g.row.event.reward_micros, 125 * MICROS_PER_UNIT);
        arena_free(&g.arena);
        reopen();
    }
    struct callback_get g = get("e-9");
    CHECK_EQ_INT(g.status, STORE_NOT_FOUND);
    arena_free(&g.arena);
    end();
}

static void reports_count_panelists_once(void)
{
    begin();
    (void)submit_new(EVENT_SURVEY_STARTED, "s-1", "ann");
    (void)submit_new(EVENT_SURVEY_STARTED, "s-2", "ann");
    CHECK_EQ_INT(report(false).active_panelists, 1);
    (void)submit_new(EVENT_SURVEY_STARTED, "s-3", "ann");
    (void)submit_new(EVENT_SURVEY_STARTED, "s-4", "bob");
    struct candidate test = make(EVENT_SURVEY_STARTED, "s-5", "cleo");
    test.is_test = true;
    (void)submit(test);
    test = make(EVENT_SURVEY_STARTED, "s-6", "bob");
    test.is_test = true;
    (void)submit(test);
    (void)submit_new(EVENT_OFFER_COMPLETED, "o-1", "ann");
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    struct report_row live = report(false), all = report(true);
    CHECK_EQ_INT(live.survey_starts, 4);
    CHECK_EQ_INT(live.active_panelists, 2);
    CHECK_EQ_INT(all.survey_starts, 6);
    CHECK_EQ_INT(all.active_panelists, 3);
    CHECK_EQ_INT(live.conversions[0], 1);
    CHECK_EQ_INT(live.conversions[1], 1);
    CHECK_EQ_INT((int64_t)live.earnings_micros[0], 1250000);
    CHECK_EQ_INT((int64_t)live.earnings_micros[1], 1250000);
    end();
}

/* A page in brief is not waited for: what SQLite has, without bodies. */
static void pages_in_brief(void)
{
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-2", "ann");
    CHECK_EQ_UINT(attempts_of("e-2"), 0); /* both are in SQLite now */
    record(2, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 1);
    struct due_page p = {.lane = lane_of(terms.app_no, LANE_SUCCESS),
                         .due_until_ms = NOW_MS,
                         .limit = 10,
                         .brief = true};
    ASK(store_page, store, &p);
    CHECK_EQ_INT(p.status, STORE_OK);
    CHECK(!p.more);
    CHECK_EQ_UINT(p.count, 1);
    if (p.count == 1) {
        CHECK_EQ_UINT(p.items[0]->event_no, 1);
        CHECK_EQ_INT(p.items[0]->place.due_ms, NOW_MS);
        CHECK(p.items[0]->body.p == NULL);
    }
    for (size_t i = 0; i < p.count; i++)
        callback_free(p.items[i]);
    free(p.items);
    end();
}

static void holds_reversals_back(void)
{
    begin();
    (void)submit_new(EVENT_OFFER_COMPLETED, "o-1", "ann");
    struct candidate c = make(EVENT_OFFER_COMPLETION_REVERSED, "r-1", "ann");
    c.original_reward_id = STR("o-1");
    CHECK_EQ_INT(submit(c).kind, VERDICT_ACCEPTED);
    c = make(EVENT_OFFER_COMPLETION_REVERSED, "r-2", "ann");
    c.original_reward_id = STR("o-1");
    CHECK_EQ_INT(submit(c).kind, VERDICT_ALREADY_REVERSED);
    CHECK_EQ_UINT(sink.count, 1);
    sink_clear();
    struct due_page p;
    CHECK_CSTR(page(LANE_OFFER, NOW_MS, &p), "1");
    reopen();
    CHECK_CSTR(page(LANE_OFFER, NOW_MS, &p), "1");
    record(1, LANE_OFFER, CALLBACK_DELIVERED, 0, 1);
    CHECK_EQ_UINT(sink.count, 1);
    if (sink.count == 1) {
        CHECK_EQ_UINT(sink.items[0]->event_no, 2);
        CHECK_EQ_INT(sink.items[0]->place.due_ms, NOW_MS + 1); /* when the original's try ended */
    }
    CHECK_CSTR(page(LANE_OFFER, NOW_MS, &p), "");
    CHECK_EQ_INT(p.next_due_ms, NOW_MS + 1);
    CHECK_CSTR(page(LANE_OFFER, NOW_MS + 1, &p), "2");
    CHECK_EQ_INT((int64_t)report(false).earnings_micros[1], 0);
    c.original_reward_id = STR("o-9");
    CHECK_EQ_INT(submit(c).kind, VERDICT_ORIGINAL_NOT_FOUND);
    end();
}

static int64_t reward_of(const char *event_id)
{
    struct callback_get g = get(event_id);
    int64_t reward = g.status == STORE_OK ? g.row.event.reward_micros : -1;
    arena_free(&g.arena);
    return reward;
}

static void caps_disqualifications(void)
{
    begin();
    (void)submit_new(EVENT_SURVEY_DISQUALIFIED, "d-1", "ann");
    CHECK_EQ_INT(reward_of("d-1"), 500000);
    (void)submit_new(EVENT_SURVEY_DISQUALIFIED, "d-2", "ann");
    (void)submit_new(EVENT_SURVEY_DISQUALIFIED, "d-3", "ann");
    (void)submit_new(EVENT_SURVEY_DISQUALIFIED, "d-4", "bob");
    CHECK_EQ_INT(reward_of("d-2"), 500000);
    CHECK_EQ_INT(reward_of("d-3"), 0);
    CHECK_EQ_INT(reward_of("d-4"), 500000);
    reopen();
    (void)submit_new(EVENT_SURVEY_DISQUALIFIED, "d-5", "ann");
    CHECK_EQ_INT(reward_of("d-5"), 0);
    end();
}

static enum store_status resend(const char *event_id, int64_t now_ms)
{
    struct resend r = {
        .account_no = terms.account_no, .event_id = str_of(event_id), .now_ms = now_ms};
    ASK(store_resend, store, &r);
    return r.status;
}

static void resends(void)
{
    begin();
    struct due_page p;
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-2", "ann");
    record(1, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 1);
    record(2, LANE_SUCCESS, CALLBACK_DEAD, 0, 1);
    sink_clear();
    CHECK_EQ_INT(resend("e-9", NOW_MS), STORE_NOT_FOUND);
    CHECK_EQ_INT(resend("e-1", NOW_MS + 1), STORE_OK);
    CHECK_EQ_INT(resend("e-2", NOW_MS + 2), STORE_OK);
    CHECK_EQ_UINT(sink.count, 2);
    if (sink.count == 2) {
        CHECK(sink.items[0]->was_delivered && sink.items[0]->manual);
        CHECK(!sink.items[1]->was_delivered && sink.items[1]->manual);
        CHECK_EQ_INT(sink.items[1]->attempts_made, 1);
        CHECK_EQ_INT(sink.items[1]->place.failed_attempts, 0);
    }
    reopen();
    CHECK_CSTR(page(LANE_SUCCESS, NOW_MS + 10, &p), "1 2");
    record(1, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 2);
    record(2, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 2);
    CHECK_CSTR(page(LANE_SUCCESS, NOW_MS + 10, &p), "");
    (void)report(false);
    struct store_numbers n;
    store_get_numbers(store, &n);
    CHECK_EQ_INT(n.callbacks_delivered, 2);
    CHECK_EQ_INT(n.callbacks_dead, 1);
    CHECK_EQ_INT(n.callbacks_pending, 0);
    end();
}

static size_t list(struct callback_list l, uint64_t *ret_first)
{
    l.account_no = terms.account_no;
    if (l.limit == 0)
        l.limit = 100;
    ASK(store_list_callbacks, store, &l);
    CHECK_EQ_INT(l.status, STORE_OK);
    *ret_first = l.count > 0 ? l.rows[0].event.event_no : 0;
    size_t count = l.count;
    arena_free(&l.arena);
    return count;
}

static void lists_by_every_filter(void)
{
    begin();
    uint64_t first = 0;
    (void)submit_new(EVENT_SURVEY_STARTED, "s-1", "ann");
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-2", "ann");
    (void)submit_new(EVENT_OFFER_COMPLETED, "o-3", "bob");
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-4", "bob");
    record(2, LANE_SUCCESS, CALLBACK_DEAD, 0, 1);
    CHECK_EQ_UINT(list((struct callback_list){0}, &first), 3);
    CHECK_EQ_UINT(first, 4);
    CHECK_EQ_UINT(list((struct callback_list){.order = LIST_OLDEST_FIRST}, &first), 3);
    CHECK_EQ_UINT(first, 2);
    CHECK_EQ_UINT(list((struct callback_list){.after_event_no = 4, .limit = 1}, &first), 1);
    CHECK_EQ_UINT(first, 3);
    CHECK_EQ_UINT(list((struct callback_list){.panelist_id = STR("bob")}, &first), 2);
    CHECK_EQ_UINT(list((struct callback_list){.event_id = STR("e-2")}, &first), 1);
    CHECK_EQ_UINT(list((struct callback_list){.event_id = STR("x")}, &first), 0);
    CHECK_EQ_UINT(list((struct callback_list){.state = CALLBACK_DEAD}, &first), 1);
    CHECK_EQ_UINT(first, 2);
    CHECK_EQ_UINT(list((struct callback_list){.state = CALLBACK_PENDING}, &first), 2);
    CHECK_EQ_UINT(list((struct callback_list){.type = EVENT_OFFER_COMPLETED}, &first), 1);
    CHECK_EQ_UINT(list((struct callback_list){.app_no = 11}, &first), 3);
    CHECK_EQ_UINT(list((struct callback_list){.app_no = 12}, &first), 0);
    CHECK_EQ_UINT(
        list((struct callback_list){.has_from = true, .accepted_from_ms = NOW_MS}, &first), 3);
    CHECK_EQ_UINT(list((struct callback_list){.has_to = true, .accepted_to_ms = NOW_MS}, &first),
                  0);
    end();
}

static void erases_a_panelist(void)
{
    begin();
    uint64_t first = 0;
    struct due_page p;
    (void)submit_new(EVENT_SURVEY_STARTED, "s-1", "ann");
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-2", "ann");
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-3", "ann");
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-4", "bob");
    record(2, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 1);
    struct erase e = {.account_no = terms.account_no, .panelist_id = STR("ann")};
    ASK(store_erase, store, &e);
    CHECK_EQ_INT(e.status, STORE_OK);
    CHECK_EQ_INT(e.erased, 3);
    for (int round = 0; round < 2; round++) {
        CHECK_EQ_UINT(list((struct callback_list){.panelist_id = STR("ann")}, &first), 0);
        struct callback_get g = get("e-2");
        CHECK_EQ_INT(g.row.state, CALLBACK_DELIVERED);
        CHECK(g.row.event.body.p == NULL);
        CHECK(str_has_prefix(g.row.event.panelist_id, "erased-"));
        arena_free(&g.arena);
        g = get("e-3");
        CHECK_EQ_INT(g.row.state, CALLBACK_SKIPPED);
        arena_free(&g.arena);
        CHECK_CSTR(page(LANE_SUCCESS, NOW_MS, &p), "4");
        CHECK_EQ_INT(report(false).active_panelists, 1);
        CHECK_EQ_INT(resend("e-2", NOW_MS), STORE_ERASED);
        reopen();
    }
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-5", "ann");
    CHECK_EQ_UINT(list((struct callback_list){.panelist_id = STR("ann")}, &first), 1);
    end();
}

static int objects_seen;

static void see_object(void *context, enum object_kind kind, struct str id, struct str document)
{
    (void)context;
    objects_seen++;
    CHECK_EQ_INT(kind, OBJECT_APP);
    CHECK_STR(id, "app-2");
    CHECK_STR(document, "{\"b\":2}");
}

static enum store_status change(const char *id, const char *document)
{
    struct object_change c = {.kind = OBJECT_APP, .id = str_of(id), .document = str_of(document)};
    ASK(store_change_object, store, &c);
    return c.status;
}

static void keeps_objects(void)
{
    begin();
    CHECK_EQ_INT(change("app-1", "{}"), STORE_OK);
    CHECK_EQ_INT(change("app-2", "{\"b\":1}"), STORE_OK);
    CHECK_EQ_INT(change("app-2", "{\"b\":2}"), STORE_OK);
    CHECK_EQ_INT(change("app-1", NULL), STORE_OK);
    CHECK_EQ_INT(change("app-1", NULL), STORE_NOT_FOUND);
    store_close(store);
    char *why = NULL;
    store = open_store(&why);
    REQUIRE(store != NULL);
    objects_seen = 0;
    store_visit_objects(store, see_object, NULL);
    CHECK_EQ_INT(objects_seen, 1);
    end();
}

static void refuses_a_second_daemon(void)
{
    begin();
    char *why = NULL;
    CHECK(open_store(&why) == NULL);
    REQUIRE(why != NULL);
    CHECK(strstr(why, "another postbackd") != NULL);
    free(why);
    end();
}

/* Takes events in, says each on the pipe once it is acknowledged, until it is killed. */
static void run_until_killed(int to)
{
    reopen();
    char id[32];
    for (uint32_t i = 1;; i++) {
        snprintf(id, sizeof id, "k-%u", i);
        struct verdict v = submit_new(EVENT_SURVEY_COMPLETED, id, "ann");
        if (i % 3 == 0 && v.kind == VERDICT_ACCEPTED)
            record(v.event_no, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 1);
        if (write(to, &i, sizeof i) != sizeof i)
            _exit(1);
    }
}

static void keeps_what_it_acknowledged(void)
{
    strcpy(directory, "/tmp/postbackd-test-XXXXXX");
    ASSERT(mkdtemp(directory) != NULL);
    uint32_t acknowledged = 0;
    for (int round = 0; round < 3; round++) {
        int ends[2];
        ASSERT(pipe(ends) == 0);
        pid_t child = fork();
        if (child == 0) {
            close(ends[0]);
            run_until_killed(ends[1]);
        }
        close(ends[1]);
        uint32_t i = 0;
        /* Past what earlier rounds took in, so that something new is acknowledged. */
        while (i < acknowledged + 300 && read(ends[0], &i, sizeof i) == sizeof i)
            ;
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        while (read(ends[0], &i, sizeof i) == sizeof i)
            ;
        close(ends[0]);
        CHECK(i > acknowledged);
        acknowledged = i;
    }
    reopen();
    char id[32];
    for (uint32_t i = 1; i <= acknowledged; i += 7) {
        snprintf(id, sizeof id, "k-%u", i);
        CHECK_EQ_INT(submit_new(EVENT_SURVEY_COMPLETED, id, "ann").kind, VERDICT_DUPLICATE);
    }
    struct report_row row = report(false);
    CHECK(row.conversions[0] >= (int64_t)acknowledged);
    CHECK(row.conversions[0] <= (int64_t)acknowledged + 1);
    CHECK((int64_t)row.earnings_micros[0] == row.conversions[0] * 1250000);
    end();
}

/* A process that ends before anything is applied: all there is stands in the journal. */
static void recovers_from_the_journal_alone(void)
{
    begin();
    store_close(store);
    store = NULL;
    pid_t child = fork();
    if (child == 0) {
        mono_stands_still = true;
        reopen();
        bool good = change("app-1", "{}") == STORE_OK && change("app-2", "{\"b\":1}") == STORE_OK &&
                    change("app-2", "{\"b\":2}") == STORE_OK && change("app-1", NULL) == STORE_OK;
        (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
        (void)submit_new(EVENT_SURVEY_COMPLETED, "e-2", "ann");
        (void)submit_new(EVENT_OFFER_COMPLETED, "o-3", "ann");
        record(1, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 1);
        record(3, LANE_OFFER, CALLBACK_PENDING, NOW_MS + 5000, 1);
        _exit(good ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    REQUIRE(status == 0);
    char *why = NULL;
    store = open_store(&why);
    REQUIRE(store != NULL);
    objects_seen = 0;
    store_visit_objects(store, see_object, NULL);
    CHECK_EQ_INT(objects_seen, 1);
    struct lane_backlog *lanes = NULL;
    CHECK_EQ_UINT(store_backlog(store, &lanes), 2);
    free(lanes);
    store_start(store, &sink.sink);
    struct due_page p;
    CHECK_CSTR(page(LANE_SUCCESS, NOW_MS, &p), "2");
    CHECK_CSTR(page(LANE_OFFER, NOW_MS + 5000, &p), "3");
    pthread_mutex_lock(&sink.mutex);
    CHECK_EQ_UINT(sink.count, 1); /* the other is not due yet */
    if (sink.count == 1)
        CHECK_EQ_UINT(sink.items[0]->event_no, 2);
    pthread_mutex_unlock(&sink.mutex);
    CHECK_EQ_INT(submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann").kind, VERDICT_DUPLICATE);
    CHECK_EQ_INT(report(false).conversions[0], 2);
    CHECK_EQ_UINT(attempts_of("o-3"), 1);
    end();
}

static void stops_when_a_sync_fails(void)
{
    begin();
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    sink_clear();
    syncs_fail = true;
    CHECK_EQ_INT(try_to_submit("e-2"), STORE_FAILED);
    CHECK_EQ_UINT(sink.count, 0);
    syncs_fail = false;
    CHECK_EQ_INT(try_to_submit("e-3"), STORE_FAILED); /* for good, until the restart */
    CHECK_EQ_INT(get("e-1").status, STORE_FAILED);
    struct store_numbers n;
    store_get_numbers(store, &n);
    CHECK(n.failed && !n.accepting);
    CHECK_EQ_INT(n.events_accepted, 1);
    reopen();
    CHECK_EQ_INT(submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann").kind, VERDICT_DUPLICATE);
    CHECK_EQ_INT(submit_new(EVENT_SURVEY_COMPLETED, "e-3", "ann").kind, VERDICT_ACCEPTED);
    end();
}

static bool is_a_file_with_pages(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && st.st_size > 4096;
}

/* Taken while the store runs: part of it in SQLite, part only in the journal. */
static void backs_up_while_running(void)
{
    begin();
    (void)submit_new(EVENT_SURVEY_STARTED, "s-1", "ann");
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-1", "ann");
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-2", "ann");
    (void)report(false);
    record(2, LANE_SUCCESS, CALLBACK_DELIVERED, 0, 1);
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-3", "ann");
    char copy[64], *why = NULL;
    strcpy(copy, "/tmp/postbackd-test-XXXXXX");
    ASSERT(mkdtemp(copy) != NULL);
    char file[128];
    struct damaged_pages damaged;
    snprintf(file, sizeof file, "%s/postbackd.db", copy);
    CHECK(sqlite_store_backup(directory, disk_real(), file, &damaged, &why));
    CHECK(why == NULL && damaged.count == 0);
    CHECK(is_a_file_with_pages(file));
    CHECK(!sqlite_store_backup(directory, disk_real(), file, &damaged, &why));
    REQUIRE(why != NULL);
    CHECK(strstr(why, "exists already") != NULL);
    free(why);
    (void)submit_new(EVENT_SURVEY_COMPLETED, "e-4", "ann"); /* not in the copy */
    store_close(store);
    store = NULL;
    remove_tree(directory);
    strcpy(directory, copy);
    reopen();
    CHECK_EQ_INT(submit_new(EVENT_SURVEY_COMPLETED, "e-3", "ann").kind, VERDICT_DUPLICATE);
    CHECK_EQ_UINT(submit_new(EVENT_SURVEY_COMPLETED, "e-4", "ann").event_no, 5);
    struct due_page p;
    CHECK_CSTR(page(LANE_SUCCESS, NOW_MS, &p), "3 4 5");
    CHECK_EQ_INT(report(false).conversions[0], 4);
    CHECK_EQ_INT(report(false).active_panelists, 1);
    reopen();
    CHECK_EQ_INT(report(false).conversions[0], 4);
    end();
}

int main(void)
{
    RUN(accepts_once);
    RUN(hands_out_what_it_owes);
    RUN(pages_by_due_time);
    RUN(pages_in_brief);
    RUN(keeps_the_log_of_attempts);
    RUN(reports_count_panelists_once);
    RUN(holds_reversals_back);
    RUN(caps_disqualifications);
    RUN(resends);
    RUN(lists_by_every_filter);
    RUN(erases_a_panelist);
    RUN(keeps_objects);
    RUN(refuses_a_second_daemon);
    RUN(recovers_from_the_journal_alone);
    RUN(stops_when_a_sync_fails);
    RUN(backs_up_while_running);
    RUN(keeps_what_it_acknowledged);
    return check_done("sqlite_store");
}
