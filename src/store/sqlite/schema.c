/* The steps are append-only: a released one is never edited, a change is a new step. */
#include "store/sqlite/schema.h"

#include <inttypes.h>

#include "store/sqlite/migrate.h"

static const char version_1[] =
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    /* id: account_no << 40 | event_no (ids.h). Kept for ever. */
    "CREATE TABLE event("
    " id INTEGER PRIMARY KEY, app_no INT NOT NULL, client_no INT NOT NULL, type INT NOT NULL,"
    " lane INT NOT NULL, is_test INT NOT NULL, reward_decimals INT NOT NULL,"
    " occurred_ms INT NOT NULL, accepted_ms INT NOT NULL, revenue_micros INT NOT NULL,"
    " reward_micros INT NOT NULL, offer_id INT NOT NULL, original_no INT NOT NULL,"
    " event_id TEXT NOT NULL, panelist_id TEXT NOT NULL, session_id TEXT, mid TEXT,"
    " offer_title TEXT, offer_goal_id TEXT, original_reward_id TEXT, reason_text TEXT,"
    " signature_offset INT NOT NULL, counts_for_cap INT NOT NULL,"
    " segment INT NOT NULL," /* where its body is; 0: erased */
    " state INT NOT NULL, reason INT NOT NULL, queue INT NOT NULL, manual INT NOT NULL,"
    " failed_attempts INT NOT NULL, slot INT NOT NULL, due_ms INT NOT NULL,"
    " attempts INT NOT NULL,"
    " counted INT NOT NULL);" /* 1 in delivered_total, 2 in dead_total */
    "CREATE INDEX event_by_app ON event(app_no);"
    "CREATE INDEX event_by_state ON event(state) WHERE state=1 OR state=4 OR state=5;"
    "CREATE INDEX event_waiting ON event(accepted_ms) WHERE state=1;"
    "CREATE INDEX event_held ON event(app_no, lane) WHERE queue=2;"
    /* Callbacks that wait in their lane, by due time. lane: app_no * 4 + kind. */
    "CREATE TABLE due(lane INT, due_ms INT, id INT, PRIMARY KEY(lane, due_ms, id)) WITHOUT ROWID;"
    "CREATE TABLE reversal(original_id INTEGER PRIMARY KEY, id INT NOT NULL);"
    "CREATE TABLE cap(app_no INT, panelist_hash INT, occurred_ms INT, id INT,"
    " PRIMARY KEY(app_no, panelist_hash, occurred_ms, id)) WITHOUT ROWID;"
    "CREATE INDEX cap_by_time ON cap(occurred_ms);"
    /* Sums of 128 bits as high * 10^15 + low. */
    "CREATE TABLE report("
    " account_no INT, day INT, client_no INT,"
    " live_events INT NOT NULL, live_starts INT NOT NULL,"
    " live_conversions_survey INT NOT NULL, live_conversions_offer INT NOT NULL,"
    " live_survey_high INT NOT NULL, live_survey_low INT NOT NULL,"
    " live_offer_high INT NOT NULL, live_offer_low INT NOT NULL,"
    " test_events INT NOT NULL, test_starts INT NOT NULL,"
    " test_conversions_survey INT NOT NULL, test_conversions_offer INT NOT NULL,"
    " test_survey_high INT NOT NULL, test_survey_low INT NOT NULL,"
    " test_offer_high INT NOT NULL, test_offer_low INT NOT NULL,"
    " active_live INT NOT NULL, active_any INT NOT NULL,"
    " PRIMARY KEY(account_no, day, client_no)) WITHOUT ROWID;"
    "CREATE TABLE object(kind INT, id TEXT, document TEXT NOT NULL, PRIMARY KEY(kind, id))"
    " WITHOUT ROWID;"
    /* One row per segment; the last one is open. filter: of its keys, once it is sealed. */
    "CREATE TABLE segment(no INTEGER PRIMARY KEY, keys INT NOT NULL,"
    " first_accepted_ms INT NOT NULL, last_accepted_ms INT NOT NULL, has_bodies INT NOT NULL,"
    " filter BLOB);"
    "CREATE VIEW events AS SELECT id >> 40 AS account_no, id & 0xffffffffff AS event_no, *"
    " FROM event;";

/* What happened on a day was accepted on it, but for the few of this index: both together are the
 * day, whatever the size of the past, and an event that is on time costs the index nothing. */
static const char version_2[] =
    "CREATE INDEX event_late ON event(id>>40, " SCHEMA_EVENT_DAY ") WHERE " SCHEMA_EVENT_IS_LATE;

/* The ledger (store/books.h), filled from the events that are there already. state 0 is what is
 * owed in all. Sums as in the table of reports. */
static const char version_3[] =
    "CREATE TABLE book("
    " account_no INT, day INT, app_no INT, lane INT, is_test INT, state INT, count INT NOT NULL,"
    " reward_high INT NOT NULL, reward_low INT NOT NULL,"
    " revenue_high INT NOT NULL, revenue_low INT NOT NULL,"
    " PRIMARY KEY(account_no, day, app_no, lane, is_test, state)) WITHOUT ROWID;"
    "CREATE INDEX book_waiting ON book(app_no, lane, day) WHERE state=1 AND count>0;";
static const char version_3_undo[] = "DROP TABLE IF EXISTS book";

/* What a survey must have been started for. Of the past only conversions are known. */
static const char version_4[] =
    "ALTER TABLE report ADD COLUMN live_outcomes INT NOT NULL DEFAULT 0;"
    "ALTER TABLE report ADD COLUMN test_outcomes INT NOT NULL DEFAULT 0;"
    "UPDATE report SET live_outcomes=live_conversions_survey,"
    " test_outcomes=test_conversions_survey;";

/* Events accepted earlier, by a clock that was put back, than their account's event before them. */
static const char version_5[] = "CREATE TABLE accepted_back(id INTEGER PRIMARY KEY)";

/* From here on attempts are written to attempts_DAY (attempt_block.h) and bodies to bodies_N
 * (body_block.h). What attempt_DAY and body_N have is read until it is old enough to be dropped; an
 * older program must not write beside it. */
static const char version_6[] = "";

/* Payments of the cap are kept for ever: nothing asks for the old ones by time any more. */
static const char version_7[] = "DROP INDEX cap_by_time";

/* How the last days went by quarters of an hour; days that something is known of already are not
 * counted whole. And what a search names: any of app, type and state (search.h); the index does
 * what two older ones did. */
static const char version_8[] =
    "CREATE TABLE intraday("
    " day INT, account_no INT, slot INT, survey_starts INT NOT NULL, conversions INT NOT NULL,"
    " active_panelists INT NOT NULL, earnings_high INT NOT NULL, earnings_low INT NOT NULL,"
    " PRIMARY KEY(day, account_no, slot)) WITHOUT ROWID;"
    "INSERT INTO meta SELECT '" META_INTRADAY_FROM_DAY "',day+1"
    " FROM (SELECT max(day) AS day FROM report) WHERE day IS NOT NULL;"
    "CREATE INDEX event_search ON event(id>>40, app_no, type, state) WHERE lane<>0;"
    "DROP INDEX IF EXISTS event_by_app; DROP INDEX IF EXISTS event_by_state;";

/* The runs of keys and panelists of each segment that has them (run.h); a segment that is open now
 * is closed. */
static const char version_9[] =
    "CREATE TABLE run(segment INT, no INT, events INT NOT NULL, PRIMARY KEY(segment, no))"
    " WITHOUT ROWID;"
    "ALTER TABLE segment ADD COLUMN has_keys INT NOT NULL DEFAULT 1;";

/* How many wait, of each segment and millisecond of acceptance: apply_waiting.c. */
static const char version_10[] =
    "CREATE TABLE waiting(segment INT, accepted_ms INT, count INT NOT NULL,"
    " PRIMARY KEY(segment, accepted_ms)) WITHOUT ROWID;"
    "INSERT INTO waiting SELECT segment,accepted_ms,count(*) FROM event WHERE state=1 GROUP BY 1,2;"
    "DROP INDEX event_waiting;";

/* The same index with one number for its columns. */
static const char version_11[] =
    "DROP INDEX event_search;"
    "CREATE INDEX event_search ON event(" SCHEMA_SEARCH_KEY ") WHERE lane<>0;";

const struct migration_step migration_steps[SCHEMA_VERSION] = {
    {.text = version_1},
    {.text = version_2},
    {.text = version_3, .undo = version_3_undo, .columns = FILL_BOOK_COLUMNS, .fill = fill_book},
    {.text = version_4},
    {.text = version_5},
    {.text = version_6},
    {.text = version_7},
    {.text = version_8},
    {.text = version_9},
    {.text = version_10},
    {.text = version_11},
};

void schema_configure(struct sql *q, bool write, int cache_kib)
{
    if (write) {
        sql_exec(q, "PRAGMA page_size=4096");
        sqlite3_stmt *s = sql_prepare(q, "PRAGMA journal_mode=WAL");
        if (sql_row(q, s))
            sql_reset(s);
        sql_finalize(s);
        sql_exec(q, "PRAGMA synchronous=NORMAL");
        /* The applier checkpoints by itself, after a commit and not inside it. */
        sql_exec(q, "PRAGMA wal_autocheckpoint=0");
    } else {
        sql_exec(q, "PRAGMA query_only=1");
    }
    sql_exec_f(q, "PRAGMA cache_size=-%d", cache_kib);
    sql_exec(q, "PRAGMA temp_store=MEMORY");
}

/* --- meta ----------------------------------------------------------------------------------- */

int64_t meta_get_int(struct sql *q, const char *name, int64_t otherwise)
{
    sqlite3_stmt *s = sql_prepare(q, "SELECT value FROM meta WHERE name=?");
    sql_bind_str(s, 1, str_of(name));
    if (sql_row(q, s)) {
        otherwise = sql_int(s, 0);
        sql_reset(s);
    }
    sql_finalize(s);
    return otherwise;
}

void meta_set_int(struct sql *q, const char *name, int64_t value)
{
    sqlite3_stmt *s = sql_prepare(q, "INSERT OR REPLACE INTO meta VALUES(?,?)");
    sql_bind_str(s, 1, str_of(name));
    sql_bind_int(s, 2, value);
    sql_run(q, s);
    sql_finalize(s);
}

void meta_get_secret(struct sql *q, struct hash_secret *ret)
{
    sqlite3_stmt *s = sql_prepare(q, "SELECT value FROM meta WHERE name='hash_secret'");
    if (sql_row(q, s)) {
        struct str bytes = sql_str(s, 0);
        ASSERT(bytes.n == sizeof ret->bytes);
        memcpy(ret->bytes, bytes.p, sizeof ret->bytes);
        sql_reset(s);
    }
    sql_finalize(s);
}

bool meta_make_secret(struct sql *q, const struct hash_secret *fresh)
{
    sqlite3_stmt *s = sql_prepare(q, "INSERT OR IGNORE INTO meta VALUES('hash_secret',?)");
    sql_bind_blob(s, 1, (struct str){(const char *)fresh->bytes, sizeof fresh->bytes});
    sql_run(q, s);
    bool made = !sql_failed(q) && sqlite3_changes(q->db) > 0;
    sql_finalize(s);
    return made;
}

struct journal_position meta_get_position(struct sql *q)
{
    return (struct journal_position){
        .segment = (uint64_t)meta_get_int(q, "journal_segment", 0),
        .offset_bytes = (uint64_t)meta_get_int(q, "journal_offset", 0),
    };
}

/* --- tables that come and go ------------------------------------------------------------------ */

void schema_create_segment(struct sql *q, uint32_t segment)
{
    sql_exec_f(q, "CREATE TABLE keys_%u(id INTEGER PRIMARY KEY, block BLOB NOT NULL)", segment);
    sql_exec_f(q, "CREATE TABLE panelists_%u(id INTEGER PRIMARY KEY, block BLOB NOT NULL)",
               segment);
    sql_exec_f(q, "CREATE TABLE bodies_%u(block INTEGER PRIMARY KEY, bodies BLOB NOT NULL)",
               segment);
}

void schema_create_attempt_day(struct sql *q, int64_t day)
{
    sql_exec_f(q,
               "CREATE TABLE IF NOT EXISTS attempts_%" PRId64
               "(block INTEGER PRIMARY KEY, attempts BLOB NOT NULL)",
               day);
}

void schema_create_active_day(struct sql *q, int64_t day)
{
    /* bits: 1 started a live survey, 2 a test one; above them the slot of intraday that the first
     * live start was counted in, plus 1 */
    sql_exec_f(q,
               "CREATE TABLE IF NOT EXISTS \"active_%" PRId64 "\"(client_no INT, hi INT, lo INT,"
               " bits INT NOT NULL, PRIMARY KEY(client_no, hi, lo)) WITHOUT ROWID",
               day);
}
