/* The tables, as numbered steps (sqlite_migrate.h); docs/store-schema.md describes each table. */
#pragma once

#include "base/hash.h"
#include "store/journal/journal.h"
#include "store/sqlite/sqlite_migrate.h"

#define SCHEMA_VERSION 1
/* Of the database's header, "pbk" and a number: it tells a store of this format from other
 * programs' databases. */
#define SCHEMA_APPLICATION_ID 1885498114
extern const struct migration schema_migration;

/* The report day of an event, and whether it was accepted on another day: the expressions of the
 * index event_late, with ACCOUNT_OF_ID_SQL (ids.h). SQLite uses the index only for queries that
 * repeat them word for word. */
#define SCHEMA_EVENT_DAY "(occurred_ms/86400000-(occurred_ms%86400000<0))"
#define SCHEMA_EVENT_IS_LATE SCHEMA_EVENT_DAY "<>accepted_ms/86400000"
#define SCHEMA_EVENT_IS_ON_TIME SCHEMA_EVENT_DAY "=accepted_ms/86400000"

/* The first day with complete slots; absent: all are complete. */
#define META_INTRADAY_FROM_DAY "intraday_from_day"

/* domain/retention_clock.h */
#define META_RETENTION_CLOCK "retention_clock_ms"

/* Page cache of one connection. */
#define SCHEMA_CACHE_KIB_WRITER 32768
#define SCHEMA_CACHE_KIB_READER 8192

/* Settings of every connection; the writing one also sets the page size and WAL mode. */
void schema_configure(struct sql *q, bool write, int cache_kib);

/* Named values of the whole store. */
int64_t meta_get_int(struct sql *q, const char *name, int64_t otherwise);
void meta_set_int(struct sql *q, const char *name, int64_t value);
/* Absent: there is no such value. It is valid until *ret_read is finalized, which the caller does
 * in any case. */
struct str meta_get_bytes(struct sql *q, const char *name, sqlite3_stmt **ret_read);
void meta_set_bytes(struct sql *q, const char *name, struct str value);
/* The hash secret; made from `fresh` if there is none (writing connections only). */
void meta_get_secret(struct sql *q, struct hash_secret *ret);
void meta_make_secret(struct sql *q, const struct hash_secret *fresh);
struct journal_position meta_get_position(struct sql *q);

/* Tables made and dropped at run time: three for each segment, two for each bundle, a table for
 * each day, and the attempts that are kept longer. */
void schema_create_set(struct sql *q, uint32_t set); /* keys and panelists: run.h */
void schema_create_segment(struct sql *q, uint32_t segment);
void schema_create_attempts(struct sql *q, const char *table);
/* A statement that adds rows (block, chunk) to such a table; a chunk is appended to its block. */
sqlite3_stmt *schema_prepare_attempts(struct sql *q, const char *table, const char *rows);
void schema_create_active_day(struct sql *q, int64_t day);
