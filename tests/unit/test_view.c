/* The writer's view of a store: what its memtables alone make of an event. */
#include "check.h"

#include "store/sqlite/view.h"

static struct event event_of(uint64_t event_no, const char *panelist_id)
{
    return (struct event){
        .account_no = 1,
        .app_no = 1,
        .event_no = event_no,
        .type = EVENT_OFFER_COMPLETED,
        .lane = LANE_OFFER,
        .state = CALLBACK_PENDING,
        .signature_offset = 8,
        .event_id = STR("e"),
        .panelist_id = str_of(panelist_id),
        .session_id = STR("s"),
        .body = STR("{}"),
    };
}

static struct event look(struct view *v, uint64_t event_no, struct arena *arena)
{
    struct event e = {0};
    struct callback_life life;
    CHECK(view_event(v, event_id_of(1, event_no), arena, &e, &life));
    return e;
}

/* Recorded and not applied yet: a resend would send the old body, a reversal take the old name. */
static void an_erasure_holds_before_it_is_applied(void)
{
    struct arena arena = {0};
    struct memtable *filled = memtable_new(1), *next = memtable_new(2);
    struct view v = {.active = filled};
    struct event events[] = {event_of(1, "ann"), event_of(2, "bob"), event_of(3, "ann")};
    for (size_t i = 0; i < ARRAY_LEN(events); i++) {
        struct callback_life due = life_accept(&events[i], NULL);
        memtable_add_event(filled, &events[i], &due, 0);
    }
    (void)memtable_add_erase(filled, &(struct mem_erase){.account_no = 1,
                                                         .upto_event_no = 2,
                                                         .panelist_id = STR("ann"),
                                                         .replacement = STR("erased-1")});
    for (int frozen = 0; frozen < 2; frozen++) {
        struct event e = look(&v, 1, &arena);
        CHECK_STR(e.panelist_id, "erased-1");
        CHECK(!e.body.p && !e.session_id.p && e.signature_offset == 0);
        CHECK_STR(look(&v, 2, &arena).panelist_id, "bob");
        CHECK_STR(look(&v, 3, &arena).body, "{}"); /* of a later panelist of that name */
        v.frozen = filled;
        v.active = next;
    }
    memtable_free(filled);
    memtable_free(next);
    arena_free(&arena);
}

static size_t used_by_two(uint32_t first_app_no, uint32_t second_app_no)
{
    struct memtable *m = memtable_new(1);
    struct event events[] = {event_of(1, "ann"), event_of(2, "ann")};
    events[0].app_no = first_app_no;
    events[1].app_no = second_app_no;
    for (size_t i = 0; i < ARRAY_LEN(events); i++) {
        struct callback_life due = life_accept(&events[i], NULL);
        memtable_add_event(m, &events[i], &due, 0);
    }
    size_t bytes = memtable_used_bytes(m);
    CHECK(bytes <= memtable_bytes(m));
    memtable_free(m);
    return bytes;
}

static void lanes_count_as_used(void)
{
    CHECK(used_by_two(1, 2) > used_by_two(1, 1));
}

int main(void)
{
    RUN(lanes_count_as_used);
    RUN(an_erasure_holds_before_it_is_applied);
    return check_done("view");
}
