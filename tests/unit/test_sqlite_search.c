/*
 * What callbacks are searched by has each of them once, in the state it is in: rows of few and of
 * many, at the borders of rows, after outcomes, resends and erasures in generated order.
 */
#include "sqlite_store.h"

#include "sqlite_sql.h"
#include "store/sqlite/search_set.h"

#include <stdlib.h>

static uint64_t seed = 7;

static unsigned next_random(unsigned below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(seed >> 33) % below;
}

/* --- rows ------------------------------------------------------------------------------------- */

static void check_row(unsigned members)
{
    struct search_block block = {0}, again;
    uint16_t few[SEARCH_BLOCK_EVENTS / 16], offsets[SEARCH_BLOCK_EVENTS];
    unsigned in = 0;
    for (unsigned i = 0; i < SEARCH_BLOCK_EVENTS && in < members; i++) {
        if (next_random(SEARCH_BLOCK_EVENTS - i) >= members - in)
            continue;
        search_block_set(&block, i, true);
        in++;
    }
    struct str row = search_block_row(&block, few);
    CHECK(row.n <= sizeof block && row.n <= 2 * (size_t)members);
    CHECK_EQ_UINT(search_block_offsets(row, offsets), members);
    for (unsigned i = 0; i < members; i++)
        CHECK(block.words[offsets[i] / 64] >> (offsets[i] % 64) & 1 &&
              (i == 0 || offsets[i] > offsets[i - 1]));
    search_block_read(&again, row);
    CHECK(memcmp(&again, &block, sizeof block) == 0);
}

static void keeps_few_and_many(void)
{
    for (unsigned members = 0; members <= SEARCH_BLOCK_EVENTS; members += members < 300 ? 1 : 211)
        check_row(members);
    check_row(SEARCH_BLOCK_EVENTS);
}

/* --- moves ------------------------------------------------------------------------------------ */

#define EVENTS 4500 /* more than a row is about */
#define BATCH 500
#define PANELISTS 3

static const enum event_type types[] = {EVENT_SURVEY_COMPLETED, EVENT_SURVEY_DISQUALIFIED,
                                        EVENT_SURVEY_STARTED};

static struct {
    bool waits;
    enum lane_kind lane;
} callbacks[EVENTS + 1]; /* by number */

static void submit_batch(int first)
{
    static char ids[BATCH][16];
    static struct candidate items[BATCH];
    static const char *const panelists[PANELISTS] = {"ann", "bob", "cy"};
    for (int i = 0; i < BATCH; i++) {
        snprintf(ids[i], sizeof ids[i], "e-%d", first + i);
        /* Some types are rare, so that there are rows of few. */
        unsigned type = next_random(20) ? 0 : 1 + next_random(ARRAY_LEN(types) - 1);
        items[i] = make(types[type], ids[i], panelists[next_random(PANELISTS)]);
        callbacks[first + i].lane = event_lane(types[type]);
        callbacks[first + i].waits = callbacks[first + i].lane != LANE_NONE;
    }
    struct intake_batch batch = {.items = items, .count = BATCH, .received_ms = NOW_MS};
    ASK(store_submit, store, &batch);
    CHECK_EQ_INT(batch.status, STORE_OK);
    arena_free(&batch.arena);
}

/* One after the other from somewhere on, so that none has two outcomes. */
static void record_some(int upto, int count)
{
    static const enum callback_state states[] = {
        CALLBACK_PENDING, CALLBACK_DELIVERED, CALLBACK_DELIVERED, CALLBACK_DEAD, CALLBACK_SKIPPED};
    static struct outcome items[EVENTS];
    struct outcome_batch batch = {.items = items};
    unsigned no = 1 + next_random((unsigned)(upto - count));
    for (int i = 0; i < count; i++, no++) {
        if (!callbacks[no].waits)
            continue;
        enum callback_state state = states[next_random(ARRAY_LEN(states))];
        items[batch.count++] = (struct outcome){
            .account_no = terms.account_no,
            .event_no = no,
            .lane = lane_of(terms.app_no, callbacks[no].lane),
            .state = state,
            .reason = state == CALLBACK_SKIPPED ? REASON_NO_URL
                      : state == CALLBACK_DEAD  ? REASON_ATTEMPTS
                                                : REASON_NONE,
            .place = {1, 1, NOW_MS + 5000},
        };
        callbacks[no].waits = state == CALLBACK_PENDING;
    }
    ASK(store_record, store, &batch);
    CHECK_EQ_INT(batch.status, STORE_OK);
}

static void erase_one(const char *panelist)
{
    struct erase e = {.account_no = terms.account_no, .panelist_id = str_of(panelist)};
    ASK(store_erase, store, &e);
    CHECK_EQ_INT(e.status, STORE_OK);
}

/* Every member of the set is such a callback. */
static int64_t check_set(sqlite3 *db, uint64_t key, uint64_t block, struct str row)
{
    uint16_t offsets[SEARCH_BLOCK_EVENTS];
    size_t count = search_block_offsets(row, offsets);
    sqlite3_stmt *s = NULL;
    ASSERT(sqlite3_prepare_v2(db,
                              "SELECT ((id>>40)<<39)|(app_no<<7)|(type<<3)|state FROM event"
                              " WHERE lane<>0 AND id=?",
                              -1, &s, NULL) == SQLITE_OK);
    CHECK(count > 0);
    for (size_t i = 0; i < count; i++) {
        uint64_t no = (block << SEARCH_BLOCK_BITS) + offsets[i];
        sqlite3_bind_int64(s, 1, (int64_t)event_id_of(terms.account_no, no));
        if (CHECK_EQ_INT(sqlite3_step(s), SQLITE_ROW))
            CHECK_EQ_UINT((uint64_t)sqlite3_column_int64(s, 0), key);
        sqlite3_reset(s);
    }
    sqlite3_finalize(s);
    return (int64_t)count;
}

static void check_sets(void)
{
    int64_t count = 0;
    store_close(store);
    store = NULL;
    sqlite3 *db = open_database();
    sqlite3_stmt *s = NULL;
    ASSERT(sqlite3_prepare_v2(db, "SELECT key,block,events FROM search", -1, &s, NULL) ==
           SQLITE_OK);
    while (sqlite3_step(s) == SQLITE_ROW)
        count += check_set(
            db, (uint64_t)sqlite3_column_int64(s, 0), (uint64_t)sqlite3_column_int64(s, 1),
            (struct str){sqlite3_column_blob(s, 2), (size_t)sqlite3_column_bytes(s, 2)});
    sqlite3_finalize(s);
    sqlite3_close(db);
    CHECK_EQ_INT(count, sql_number("SELECT count(*) FROM event WHERE lane<>0"));
    reopen();
}

static void has_each_callback_once(void)
{
    begin();
    for (int first = 1; first <= EVENTS; first += BATCH) {
        submit_batch(first);
        record_some(first + BATCH - 1, 90); /* in the memtable and behind it */
        if (first % 2 == 0 || first > EVENTS - BATCH)
            check_sets();
        record_some(first + BATCH - 1, 90);
    }
    erase_one("bob");
    record_some(EVENTS, 1000);
    check_sets();
    end();
}

int main(void)
{
    RUN(keeps_few_and_many);
    RUN(has_each_callback_once);
    return check_done("sqlite_search");
}
