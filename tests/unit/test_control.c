/* The control thread as a service: changes without a request, kept with their audit entries. */
#include "services/control.h"

#include "memory_store/memory_store.h"

#include "accounts_fixture.h"
#include "base/waiter.h"

struct office {
    struct fixture f;
    struct store *store;
    struct control *control;
    struct app *app;
    int app_changes, settled; /* the control thread's, until it has ended */
    /* A change of the app, asked for by a task. */
    struct task task;
    struct actor by;
    enum store_status status;
};

static void app_changed(void *context, uint32_t app_no)
{
    struct office *o = context;
    o->app_changes += app_no == o->app->app_no;
}

static void gone_settled(void *context, uint32_t app_no, enum lane_kind kind)
{
    struct office *o = context;
    o->settled += app_no == o->app->app_no && kind == LANE_SUCCESS;
}

static void office_open(struct office *o)
{
    *o = (struct office){0};
    fixture_open(&o->f);
    o->store = memory_store_open(&o->f.env);
    REQUIRE(fixture_partner(&o->f, "{\"PartnerId\":\"p\"}"));
    REQUIRE(fixture_app(&o->f, "p",
                        "{\"AppId\":\"app-1\",\"Name\":\"A\",\"CurrencyValue\":100,"
                        "\"SuccessCallbackUrl\":\"http://127.0.0.1:9/cb\"}"));
    o->app = directory_app(o->f.directory, STR("app-1"));
    REQUIRE(o->app);
    o->control = control_new(&(struct control_options){
        .env = &o->f.env,
        .accounts = o->f.accounts,
        .store = o->store,
        .directory = o->f.directory,
        .app_changed = app_changed,
        .gone_settled = gone_settled,
        .context = o,
    });
}

/* Afterwards what was asked for is done. */
static void office_end_control(struct office *o)
{
    control_free(o->control);
    o->control = NULL;
}

static void office_close(struct office *o)
{
    app_unref(o->app);
    store_close(o->store);
    fixture_close(&o->f);
}

/* The newest entry of an account's list (0: of the installation's) in the fixture's arena; absent:
 * none. */
static struct str newest_entry(struct office *o, uint32_t account_no)
{
    char from[AUDIT_KEY_BYTES], below[AUDIT_KEY_BYTES];
    struct waiter waiter;
    waiter_init(&waiter);
    audit_key(from, account_no, 0);
    audit_key(below, account_no, INT64_C(1) << 46);
    struct object_list list = {.done.run = waiter_wake,
                               .reply_to = &waiter.executor,
                               .kind = OBJECT_AUDIT,
                               .from = str_of(from),
                               .below = str_of(below),
                               .limit = 1};
    store_list_objects(o->store, &list);
    waiter_wait(&waiter);
    waiter_free(&waiter);
    struct str entry = list.count ? arena_str(&o->f.arena, list.rows[0].document) : (struct str){0};
    arena_free(&list.arena);
    return entry;
}

static bool says(struct str text, const char *what)
{
    return memmem(text.p, text.n, what, strlen(what)) != NULL;
}

static bool is_disabled(struct office *o)
{
    struct app *app = directory_app(o->f.directory, STR("app-1"));
    bool disabled = app->terms.lane_disabled[LANE_SUCCESS];
    app_unref(app);
    return disabled;
}

static void a_lane_is_disabled_by_postbackd_itself(void)
{
    struct office o;
    office_open(&o);
    control_disable_lane(o.control, o.app->app_no, LANE_SUCCESS, STR("http://127.0.0.1:9/cb"));
    office_end_control(&o);
    CHECK(is_disabled(&o) && o.app_changes == 1 && o.settled == 1);
    struct str entry = newest_entry(&o, 0);
    CHECK(says(entry, "\"Action\":\"app.endpoint_disabled\""));
    CHECK(says(entry, "\"Kind\":\"postbackd\"") && says(entry, "\"PartnerId\":\"p\""));
    CHECK(str_eq(entry, newest_entry(&o, o.app->terms.account_no)));
    office_close(&o);
}

static void a_410_of_an_older_url_changes_nothing(void)
{
    struct office o;
    office_open(&o);
    control_disable_lane(o.control, o.app->app_no, LANE_SUCCESS, STR("http://127.0.0.1:9/old"));
    office_end_control(&o);
    CHECK(!is_disabled(&o) && o.app_changes == 0 && o.settled == 1);
    CHECK(newest_entry(&o, 0).p == NULL);
    office_close(&o);
}

static void rename_app(struct task *task)
{
    struct office *o = CONTAINER_OF(task, struct office, task);
    struct fixture *f = &o->f;
    control_catch_up(o->control);
    REQUIRE(change_patch_app(f->accounts, STR("app-1"), STR_NONE,
                             fixture_body(f, "{\"Name\":\"B\"}"), &f->faults,
                             &f->change) == CHANGE_READY);
    o->status = control_change(o->control, &o->by, NULL, &f->change);
    change_free(f->accounts, &f->change);
}

static void a_partner_does_not_see_which_operator_it_was(void)
{
    struct office o;
    struct address peer;
    office_open(&o);
    REQUIRE(address_parse(STR("192.0.2.7"), &peer));
    o.by = (struct actor){.user_id = STR("usr_1"),
                          .email = STR("op@example.org"),
                          .is_operator = true,
                          .peer = &peer,
                          .request_id = STR("req_9")};
    o.task = (struct task){.run = rename_app, .owner = 0};
    control_post(o.control, &o.task);
    office_end_control(&o);
    CHECK_EQ_INT(o.status, STORE_OK);
    CHECK_EQ_INT(o.app_changes, 1);
    struct str all = newest_entry(&o, 0), theirs = newest_entry(&o, o.app->terms.account_no);
    CHECK(says(all, "\"Action\":\"app.changed\"") && says(all, "op@example.org"));
    CHECK(says(all, "\"Address\":\"192.0.2.7\"") && says(all, "\"Name\":\"A\""));
    CHECK(says(theirs, "\"Kind\":\"operator\"") && says(theirs, "req_9"));
    CHECK(!says(theirs, "op@example.org") && !says(theirs, "usr_1") && !says(theirs, "192.0.2.7"));
    office_close(&o);
}

int main(void)
{
    RUN(a_lane_is_disabled_by_postbackd_itself);
    RUN(a_410_of_an_older_url_changes_nothing);
    RUN(a_partner_does_not_see_which_operator_it_was);
    return check_done("control");
}
