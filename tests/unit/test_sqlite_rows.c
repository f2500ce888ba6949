/* Event rows as the applier writes them: those that are as most are in one way, others in another.
 */
#include "sqlite_store.h"

static bool is_special(int i)
{
    return i == 20 || i == 55 || (i > 60 && i % 3 == 0);
}

/* One memtable with long and short runs of rows that are as most are, and others between them: each
 * is found again as it was. */
static void keeps_rows_of_all_kinds(void)
{
    char id[16];
    mono_stands_still = true;
    begin();
    for (int i = 1; i <= 90; i++) {
        snprintf(id, sizeof id, "e-%d", i);
        bool special = is_special(i);
        struct candidate c =
            make(special ? EVENT_OFFER_COMPLETED : EVENT_SURVEY_COMPLETED, id, "ann");
        c.mid = special ? STR("mid") : STR_NONE;
        c.is_test = i == 30 || i == 55;
        (void)submit(c);
        if (i % 4 == 0)
            record((uint64_t)i, special ? LANE_OFFER : LANE_SUCCESS, CALLBACK_DELIVERED, 0, 1);
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 1; i <= 90; i++) {
            snprintf(id, sizeof id, "e-%d", i);
            bool special = is_special(i);
            struct callback_get g = get(id);
            CHECK_EQ_INT(g.status, STORE_OK);
            const struct event *e = &g.row.event;
            CHECK_EQ_UINT(e->event_no, (uint64_t)i);
            CHECK_EQ_INT(e->type, special ? EVENT_OFFER_COMPLETED : EVENT_SURVEY_COMPLETED);
            CHECK_EQ_INT(e->is_test, i == 30 || i == 55);
            CHECK(special ? str_eq(e->mid, STR("mid")) : !e->mid.p);
            CHECK(special ? str_eq(e->offer_title, STR("An offer")) : !e->offer_title.p);
            CHECK_EQ_INT(g.row.state, i % 4 == 0 ? CALLBACK_DELIVERED : CALLBACK_PENDING);
            CHECK_EQ_INT(g.row.attempts, i % 4 == 0);
            CHECK(e->body.n > 50);
            arena_free(&g.arena);
        }
        reopen();
    }
    mono_stands_still = false;
    end();
}

int main(void)
{
    RUN(keeps_rows_of_all_kinds);
    return check_done("sqlite_rows");
}
