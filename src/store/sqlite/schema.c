/* The steps, the settings of connections, and the tables that are made and dropped at run time. */
#include "store/sqlite/schema.h"

#include "store/delivery_stats.h"
#include "store/sqlite/ids.h"

#include <inttypes.h>

#define COUNT_COLUMN(name) ", " #name " INT NOT NULL"
#define COUNT_COLUMNS DELIVERY_STATS_COLUMNS(COUNT_COLUMN)

#define SET_APPLICATION_ID "PRAGMA application_id=" NUMBER_AS_TEXT(SCHEMA_APPLICATION_ID) ";"

static const char version_1[] = SET_APPLICATION_ID
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    /* id: account_no << 40 | event_no (ids.h). Never purged. */
    "CREATE TABLE event("
    " id INTEGER PRIMARY KEY, app_no INT NOT NULL, client_no INT NOT NULL, type INT NOT NULL,"
    " lane INT NOT NULL, is_test INT NOT NULL, reward_decimals INT NOT NULL,"
    /* Most events are accepted soon after they occurred: the time between takes less room. */
    " occurred_ms INT NOT NULL, accepted_after_ms INT NOT NULL, revenue_micros INT NOT NULL,"
    " reward_micros INT NOT NULL, offer_id INT NOT NULL, original_no INT NOT NULL,"
    " event_id TEXT NOT NULL, panelist_id TEXT NOT NULL, session_id TEXT, mid TEXT,"
    " offer_title TEXT, offer_goal_id TEXT, original_reward_id TEXT, reason_text TEXT,"
    " signature_offset INT NOT NULL, cap INT NOT NULL,"
    " segment INT NOT NULL," /* of its body; 0: erased */
    " state INT NOT NULL, reason INT NOT NULL, queue INT NOT NULL, manual INT NOT NULL,"
    " failed_attempts INT NOT NULL, slot INT NOT NULL, due_ms INT NOT NULL,"
    " attempts INT NOT NULL,"
    " counted INT NOT NULL," /* 1 in delivered_total, 2 in dead_total */
    " accepted_ms INT AS (occurred_ms+accepted_after_ms));"
    "CREATE INDEX event_held ON event(app_no, lane) WHERE queue=2;"
    /* Delivered callbacks that wait for the extra attempt of a resend: they need their bodies. */
    "CREATE INDEX event_resend ON event(segment) WHERE queue=1 AND state<>1;"
    /* Most events are accepted on the day on which they occurred; this index has the others. A day
     * is both together, so finding it does not depend on the size of the past, and an event on time
     * costs the index nothing. */
    "CREATE INDEX event_late ON event(" ACCOUNT_OF_ID_SQL ", " SCHEMA_EVENT_DAY
    ") WHERE " SCHEMA_EVENT_IS_LATE ";"
    /* Callbacks by account, app, type and state: search_set.h. */
    "CREATE TABLE search(key INT, block INT, events BLOB NOT NULL, PRIMARY KEY(key, block))"
    " WITHOUT ROWID;"
    /* Due callbacks of the lanes, by due time. lane: app_no * 5 + kind. */
    "CREATE TABLE due(lane INT, due_ms INT, id INT, PRIMARY KEY(lane, due_ms, id)) WITHOUT ROWID;"
    "CREATE TABLE reversal(original_id INTEGER PRIMARY KEY, id INT NOT NULL);"
    "CREATE TABLE cap(app_no INT, panelist_hash INT, occurred_ms INT, id INT,"
    " PRIMARY KEY(app_no, panelist_hash, occurred_ms, id)) WITHOUT ROWID;"
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
    /* outcomes of surveys, which must have been started */
    " live_outcomes INT NOT NULL DEFAULT 0, test_outcomes INT NOT NULL DEFAULT 0,"
    " PRIMARY KEY(account_no, day, client_no)) WITHOUT ROWID;"
    /* The books (store/books.h). state 0 is the sum of all that is owed. Sums as in `report`. */
    "CREATE TABLE book("
    " account_no INT, day INT, app_no INT, lane INT, is_test INT, state INT, count INT NOT NULL,"
    " reward_high INT NOT NULL, reward_low INT NOT NULL,"
    " revenue_high INT NOT NULL, revenue_low INT NOT NULL,"
    " PRIMARY KEY(account_no, day, app_no, lane, is_test, state)) WITHOUT ROWID;"
    "CREATE INDEX book_waiting ON book(app_no, lane, day) WHERE state=1 AND count>0;"
    /* The last days by quarters of an hour. */
    "CREATE TABLE intraday("
    " day INT, account_no INT, slot INT, survey_starts INT NOT NULL, conversions INT NOT NULL,"
    " active_panelists INT NOT NULL, earnings_high INT NOT NULL, earnings_low INT NOT NULL,"
    " PRIMARY KEY(day, account_no, slot)) WITHOUT ROWID;"
    /* Attempts by class and latency, in slots of five minutes, an hour or six hours (step). */
    "CREATE TABLE delivery_stats(step INT, slot INT, account_no INT, lane INT" COUNT_COLUMNS ","
    " PRIMARY KEY(step, slot, account_no, lane)) WITHOUT ROWID;"
    /* Events that were accepted earlier than their account's event before them, because a clock was
     * put back. */
    "CREATE TABLE accepted_back(id INTEGER PRIMARY KEY);"
    "CREATE TABLE object(kind INT, id TEXT, document TEXT NOT NULL, PRIMARY KEY(kind, id))"
    " WITHOUT ROWID;"
    /* One row for each segment; the last one is open. has_bodies: 0 after they are purged. filter:
     * of its keys, after it is sealed; empty once a bundle has them. */
    "CREATE TABLE segment(no INTEGER PRIMARY KEY, keys INT NOT NULL,"
    " first_accepted_ms INT NOT NULL, last_accepted_ms INT NOT NULL, has_bodies INT NOT NULL,"
    " filter BLOB);"
    /* Each bundle, whose keys it has, how many of its steps are done, and the filters of its slices
     * (bundle.h). */
    "CREATE TABLE bundle(no INTEGER PRIMARY KEY, level INT NOT NULL, first INT NOT NULL,"
    " segments INT NOT NULL, slices INT NOT NULL, steps INT NOT NULL);"
    "CREATE TABLE slice(bundle INT, no INT, filter BLOB NOT NULL, PRIMARY KEY(bundle, no));"
    /* The runs of keys and panelists of each segment and bundle (run.h). */
    "CREATE TABLE run(set_no INT, no INT, events INT NOT NULL, PRIMARY KEY(set_no, no))"
    " WITHOUT ROWID;"
    /* The number of waiting callbacks by segment and millisecond of acceptance:
     * apply_waiting_counts.c. */
    "CREATE TABLE waiting(segment INT, accepted_ms INT, count INT NOT NULL,"
    " PRIMARY KEY(segment, accepted_ms)) WITHOUT ROWID;"
    /* The last day on which a callback of the segment became final late: apply_final_late.c. */
    "CREATE TABLE final_late(segment INTEGER PRIMARY KEY, final_day INT NOT NULL);"
    "CREATE VIEW events AS SELECT id >> 40 AS account_no, id & 0xffffffffff AS event_no, *"
    " FROM event;";

static const char *const steps[SCHEMA_VERSION] = {version_1};

const struct migration schema_migration = {steps, SCHEMA_VERSION};

void schema_configure(struct sql *q, bool write, int cache_kib)
{
    if (write) {
        sql_exec(q, "PRAGMA page_size=4096");
        /* the store relies on checkpoints, which need a WAL */
        sql_set_journal_mode(q, "wal");
        sql_exec(q, "PRAGMA synchronous=NORMAL");
        /* the applier checkpoints after commits, not inside one */
        sql_exec(q, "PRAGMA wal_autocheckpoint=0");
    } else {
        sql_exec(q, "PRAGMA query_only=1");
    }
    sql_exec_f(q, "PRAGMA cache_size=-%d", cache_kib);
    sql_exec(q, "PRAGMA temp_store=MEMORY");
}

/* --- meta ----------------------------------------------------------------------------------- */

static bool find_meta(struct sql *q, const char *name, sqlite3_stmt **ret_read)
{
    *ret_read = sql_prepare(q, "SELECT value FROM meta WHERE name=?");
    sql_bind_str(*ret_read, 1, str_of(name));
    return sql_row(q, *ret_read);
}

int64_t meta_get_int(struct sql *q, const char *name, int64_t otherwise)
{
    sqlite3_stmt *s;
    int64_t value = find_meta(q, name, &s) ? sql_int(s, 0) : otherwise;
    sql_finalize(s);
    return value;
}

struct str meta_get_bytes(struct sql *q, const char *name, sqlite3_stmt **ret_read)
{
    return find_meta(q, name, ret_read) ? sql_str(*ret_read, 0) : STR_NONE;
}

static sqlite3_stmt *begin_set_meta(struct sql *q, const char *name)
{
    sqlite3_stmt *s = sql_prepare(q, "INSERT OR REPLACE INTO meta VALUES(?,?)");
    sql_bind_str(s, 1, str_of(name));
    return s;
}

void meta_set_int(struct sql *q, const char *name, int64_t value)
{
    sqlite3_stmt *s = begin_set_meta(q, name);
    sql_bind_int(s, 2, value);
    sql_run(q, s);
    sql_finalize(s);
}

void meta_set_bytes(struct sql *q, const char *name, struct str value)
{
    sqlite3_stmt *s = begin_set_meta(q, name);
    sql_bind_blob(s, 2, value);
    sql_run(q, s);
    sql_finalize(s);
}

void meta_get_secret(struct sql *q, struct hash_secret *ret)
{
    sqlite3_stmt *s;
    struct str bytes = meta_get_bytes(q, "hash_secret", &s);
    if (bytes.p) {
        ASSERT(bytes.n == sizeof ret->bytes);
        memcpy(ret->bytes, bytes.p, sizeof ret->bytes);
    }
    sql_finalize(s);
}

void meta_make_secret(struct sql *q, const struct hash_secret *fresh)
{
    sqlite3_stmt *s = sql_prepare(q, "INSERT OR IGNORE INTO meta VALUES('hash_secret',?)");
    sql_bind_blob(s, 1, (struct str){(const char *)fresh->bytes, sizeof fresh->bytes});
    sql_run(q, s);
    sql_finalize(s);
}

struct journal_position meta_get_position(struct sql *q)
{
    return (struct journal_position){
        .segment = (uint64_t)meta_get_int(q, "journal_segment", 0),
        .offset_bytes = (uint64_t)meta_get_int(q, "journal_offset", 0),
    };
}

/* --- tables made and dropped at run time ------------------------------------------------------ */

void schema_create_set(struct sql *q, uint32_t set)
{
    sql_exec_f(q, "CREATE TABLE keys_%u(id INTEGER PRIMARY KEY, block BLOB NOT NULL)", set);
    sql_exec_f(q, "CREATE TABLE panelists_%u(id INTEGER PRIMARY KEY, block BLOB NOT NULL)", set);
}

void schema_create_segment(struct sql *q, uint32_t segment)
{
    schema_create_set(q, segment);
    sql_exec_f(q, "CREATE TABLE bodies_%u(block INTEGER PRIMARY KEY, bodies BLOB NOT NULL)",
               segment);
}

void schema_create_attempts(struct sql *q, const char *table)
{
    sql_exec_f(q,
               "CREATE TABLE IF NOT EXISTS %s(block INTEGER PRIMARY KEY, attempts BLOB NOT NULL)",
               table);
}

sqlite3_stmt *schema_prepare_attempts(struct sql *q, const char *table, const char *rows)
{
    return sql_prepare_f(q,
                         "INSERT INTO %s %s ON CONFLICT(block) DO UPDATE SET"
                         " attempts=CAST(attempts||excluded.attempts AS BLOB)",
                         table, rows);
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
