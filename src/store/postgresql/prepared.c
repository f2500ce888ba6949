/* Names of prepared statements, and when to prepare them: see prepared.h. */
#include "store/postgresql/prepared.h"

#include "base/hash.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define PLAN_MS 10000

struct pg_prepared_statement *prepared_find(struct pg_prepared *prepared, const char *sql)
{
    uint64_t hash = hash_fast(sql, strlen(sql));
    for (int i = 0; i < prepared->count; i++)
        if (prepared->ones[i].hash == hash)
            return &prepared->ones[i];
    if (prepared->count == PG_PREPARED_MOST)
        return NULL;
    struct pg_prepared_statement *one = &prepared->ones[prepared->count++];
    *one = (struct pg_prepared_statement){.hash = hash};
    return one;
}

enum prepare_step prepared_use(struct pg_prepared_statement *one, uint64_t rows,
                               int64_t now_mono_ms)
{
    one->rows += rows;
    bool is_old = one->rows > one->until_rows || now_mono_ms >= one->until_mono_ms;
    enum prepare_step step = !one->there ? PREPARE_FIRST : is_old ? PREPARE_AGAIN : PREPARE_NOT;
    if (step != PREPARE_NOT) {
        one->before = one->there;
        one->there = ++one->number;
        one->until_rows = one->rows * 2;
        one->until_mono_ms = now_mono_ms + PLAN_MS;
    }
    return step;
}

void prepared_learn(struct pg_prepared_statement *one, uint32_t number, bool dropped, bool given)
{
    if (dropped)
        one->known = 0;
    if (given) {
        one->known = number;
        return;
    }
    one->there = one->known;
    one->until_rows = 0; /* the next trip prepares it again */
}

static void print_name(const struct pg_prepared_statement *one, uint32_t number,
                       char ret[PG_PREPARED_NAME_BYTES])
{
    snprintf(ret, PG_PREPARED_NAME_BYTES, "k%016" PRIx64 "_%" PRIu32, one->hash, number);
}

void prepared_name(const struct pg_prepared_statement *one, char ret[PG_PREPARED_NAME_BYTES])
{
    print_name(one, one->there, ret);
}

void prepared_old_name(const struct pg_prepared_statement *one, char ret[PG_PREPARED_NAME_BYTES])
{
    print_name(one, one->before, ret);
}

void prepared_forget(struct pg_prepared *prepared)
{
    *prepared = (struct pg_prepared){.is_refused = prepared->is_refused};
}

bool prepared_is_refused(const char *sqlstate)
{
    return strcmp(sqlstate, "26000") == 0    /* not prepared */
           || strcmp(sqlstate, "42P05") == 0 /* prepared already */
           || strcmp(sqlstate, "0A000") == 0 /* its result type has changed with a column */
           || strcmp(sqlstate, "08P01") == 0 /* from a pooler that does not follow DEALLOCATE */;
}
