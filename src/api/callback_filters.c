/* Reads the filters of the callback log; see callback_filters.h. */
#include "api/callback_filters.h"

#include "api/internal.h"
#include "api/query.h"
#include "domain/event_type_list.h"

/* Failing: pending or being tried, after an attempt that failed. */
static bool is_failing(const struct call *c)
{
    return str_is(call_parameter(c, "state"), "failing");
}

static enum callback_state parameter_state(struct call *c)
{
    struct str text = call_parameter(c, "state");
    if (!text.p)
        return CALLBACK_NONE;
    if (is_failing(c))
        return CALLBACK_PENDING;
    for (int s = CALLBACK_PENDING; s <= CALLBACK_SKIPPED; s++)
        if (str_is(text, callback_state_name((enum callback_state)s)))
            return (enum callback_state)s;
    problem_add(&c->problems, STR("state"), "invalid",
                "pending, failing, delivering, delivered, dead or skipped.");
    return CALLBACK_NONE;
}

static void parameter_type(struct call *c, struct callback_list *list)
{
    struct str text = call_parameter(c, "rewardType");
    if (text.p && (!event_type_parse(text, &list->type) || list->type == EVENT_SURVEY_STARTED))
        event_types_refuse(&c->problems, STR("rewardType"), "One of", EVENT_TYPES_REWARD);
}

bool call_find_app(struct call *c, struct str app_id, uint32_t *ret_account_no,
                   uint32_t *ret_app_no)
{
    struct app *app = directory_app(c->api->options.directory, app_id);
    bool ours = app && (!c->account_no || app->terms.account_no == c->account_no);
    if (ours) {
        *ret_account_no = app->terms.account_no;
        *ret_app_no = app->app_no;
    }
    app_unref(app);
    if (!ours)
        call_answer_problem(c, 404, "The account has no app of this id.");
    return ours;
}

bool call_parameter_app(struct call *c, uint32_t *account_no, uint32_t *app_no)
{
    struct str id = call_parameter(c, "appId");
    return !id.p || call_find_app(c, id, account_no, app_no);
}

static void refuse_class(struct problems *to)
{
    struct buf names = {0};
    for (int i = ATTEMPT_OK + 1; i < ATTEMPT_CLASSES; i++)
        buf_add_name(&names, str_of(attempt_class_name((enum attempt_class)i)));
    buf_add_name(&names, STR("any"));
    problem_add(to, STR("class"), "invalid", "One of %s.", buf_c(&names));
    buf_free(&names);
}

static enum attempt_class parameter_class(struct call *c)
{
    struct str text = call_parameter(c, "class");
    for (int i = ATTEMPT_OK + 1; text.p && i < ATTEMPT_CLASSES; i++)
        if (str_is(text, attempt_class_name((enum attempt_class)i)))
            return (enum attempt_class)i;
    if (text.p && !str_is(text, "any"))
        refuse_class(&c->problems);
    return ATTEMPT_OK;
}

static void parameter_attempt(struct call *c, struct callback_list *list,
                              struct attempt_filter *attempt)
{
    attempt->class = parameter_class(c);
    attempt->status = (int)query_int(c, "status", 100, 599, 0);
    attempt->picks = call_parameter(c, "class").p || call_parameter(c, "status").p || is_failing(c);
    if (!attempt->picks)
        return;
    if (list->state == CALLBACK_DELIVERED)
        problem_add(&c->problems, STR("state"), "invalid",
                    "A delivered callback has not failed: leave out class and status.");
    list->undelivered = true;
}

bool callback_filters_read(struct call *c, struct callback_list *list,
                           struct attempt_filter *attempt)
{
    if (!call_parameter_app(c, &list->account_no, &list->app_no))
        return false;
    list->order = LIST_NEWEST_FIRST;
    list->attempts = ATTEMPTS_LAST;
    list->event_id = call_parameter(c, "rewardId");
    list->panelist_id = call_parameter(c, "panelistId");
    list->state = parameter_state(c);
    parameter_type(c, list);
    parameter_attempt(c, list, attempt);
    list->has_from = query_time(c, "from", &list->accepted_from_ms);
    list->has_to = query_time(c, "to", &list->accepted_to_ms);
    if (list->has_from && list->has_to)
        query_check_times(c, list->accepted_from_ms, list->accepted_to_ms);
    return true;
}

bool callback_filters_need_tried(struct call *c, const struct callback_list *list)
{
    bool may_be_tried = list->state == CALLBACK_NONE || list->state == CALLBACK_PENDING ||
                        list->state == CALLBACK_DELIVERING;
    return may_be_tried && !is_failing(c); /* then "pending" includes callbacks being tried */
}

bool attempt_filter_takes(const struct attempt_filter *filter, const struct callback_row *row)
{
    if (!filter->picks)
        return true;
    if (row->log_count == 0)
        return false;
    const struct attempt *last = &row->log[row->log_count - 1];
    return last->class != ATTEMPT_OK && (!filter->class || filter->class == last->class) &&
           (!filter->status || filter->status == last->status);
}
