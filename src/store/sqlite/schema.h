/* The tables, as numbered steps (migrate.h); docs/store-schema.md says what each is for. */
#pragma once

#include "base/hash.h"
#include "store/journal/journal.h"
#include "store/sqlite/migrate.h"

#define SCHEMA_VERSION 1
extern const struct migration schema_migration;

/* The report day of an event, and whether it was accepted on another one: the expressions of the
 * index event_late, which a query must repeat word for word to be answered by it. */
#define SCHEMA_EVENT_DAY "(occurred_ms/86400000-(occurred_ms%86400000<0))"
#define SCHEMA_EVENT_IS_LATE SCHEMA_EVENT_DAY "<>accepted_ms/86400000"
#define SCHEMA_EVENT_IS_ON_TIME SCHEMA_EVENT_DAY "=accepted_ms/86400000"

/* The first day of which every slot is counted; absent: all are. */
#define META_INTRADAY_FROM_DAY "intraday_from_day"

/* domain/retention.h */
#define META_RETENTION_CLOCK "retention_clock_ms"

/* The page cache of one connection. */
#define SCHEMA_CACHE_KIB_WRITER 32768
#define SCHEMA_CACHE_KIB_READER 8192

/* Settings of every connection; the writing one also sets the page size and WAL mode. */
void schema_configure(struct sql *q, bool write, int cache_kib);

/* Named values of the whole store. */
int64_t meta_get_int(struct sql *q, const char *name, int64_t otherwise);
void meta_set_int(struct sql *q, const char *name, int64_t value);
/* The key of all hashes; made from `fresh` when there is none yet (writing connections only). */
void meta_get_secret(struct sql *q, struct hash_secret *ret);
void meta_make_secret(struct sql *q, const struct hash_secret *fresh);
struct journal_position meta_get_position(struct sql *q);

/* Tables that come and go: one set per segment of keys, one table per day; and the attempts that
 * are kept for longer. */
void schema_create_segment(struct sql *q, uint32_t segment);
void schema_create_attempts(struct sql *q, const char *table);
/* Adds rows (block, chunk) to such a table, behind what it has of the block. */
sqlite3_stmt *schema_prepare_attempts(struct sql *q, const char *table, const char *rows);
void schema_create_active_day(struct sql *q, int64_t day);
