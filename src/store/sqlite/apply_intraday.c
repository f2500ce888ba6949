/* Slots of a quarter of an hour (store.h, struct intraday_query): the additions of a memtable to an
 * account's day are summed first, and each slot is written once. */
#include "store/sqlite/apply_intraday.h"

#include "domain/clock.h"
#include "store/sqlite/apply.h"
#include "store/sqlite/report_row.h"
#include "store/sqlite/schema.h"

static void write_slot(struct apply *a, int at)
{
    const struct intraday_slot *slot = &a->intraday.slots[at];
    sqlite3_stmt *s = a->intraday.add;
    sql_bind_int(s, 1, a->intraday.day);
    sql_bind_int(s, 2, a->intraday.account_no);
    sql_bind_int(s, 3, at);
    sql_bind_int(s, 4, slot->survey_starts);
    sql_bind_int(s, 5, slot->conversions);
    sql_bind_int(s, 6, slot->active_panelists);
    money_bind(s, 7, slot->earnings_micros);
    sql_run(&a->sql, s);
}

void apply_intraday_end(struct apply *a)
{
    for (int i = 0; a->intraday.account_no != 0 && i < INTRADAY_SLOTS; i++)
        if (!intraday_slot_is_empty(&a->intraday.slots[i]))
            write_slot(a, i);
    a->intraday.account_no = 0;
    memset(a->intraday.slots, 0, sizeof a->intraday.slots);
}

void apply_intraday_open(struct apply *a, uint32_t account_no, int32_t day)
{
    if (a->intraday.account_no == account_no && a->intraday.day == day)
        return;
    apply_intraday_end(a);
    a->intraday.account_no = account_no;
    a->intraday.day = day;
}

void apply_intraday_event(struct apply *a, const struct event *e)
{
    int at = intraday_slot(e);
    int64_t behind = clock_day(e->occurred_ms) + 1;
    if (at < 0 && !e->is_test && behind > a->intraday.whole_from_day)
        a->intraday.whole_from_day = behind;
    if (at < 0)
        return;
    struct intraday_slot *slot = &a->intraday.slots[at];
    slot->survey_starts += e->type == EVENT_SURVEY_STARTED;
    slot->conversions += event_is_conversion(e);
    slot->earnings_micros += e->revenue_micros;
}

void apply_intraday_active(struct apply *a, int slot, int64_t count)
{
    if (slot >= 0 && slot < INTRADAY_SLOTS) /* otherwise the row is damaged */
        a->intraday.slots[slot].active_panelists += count;
}

/* If the clock is right, these days are older than any that can be asked for. */
void apply_intraday_left_out(struct apply *a)
{
    int64_t day = a->intraday.whole_from_day;
    if (day > 0 && meta_get_int(&a->sql, META_INTRADAY_FROM_DAY, INT32_MIN) < day)
        meta_set_int(&a->sql, META_INTRADAY_FROM_DAY, day);
    a->intraday.whole_from_day = 0;
}
