/* Names of prepared statements, and when to prepare them: see kept.h. */
#include "store/postgresql/kept.h"

#include "base/hash.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define KEPT_MS 10000

struct pg_kept_one *kept_find(struct pg_kept *kept, const char *sql)
{
    uint64_t hash = hash_fast(sql, strlen(sql));
    for (int i = 0; i < kept->count; i++)
        if (kept->ones[i].hash == hash)
            return &kept->ones[i];
    if (kept->count == PG_KEPT_MOST)
        return NULL;
    struct pg_kept_one *one = &kept->ones[kept->count++];
    *one = (struct pg_kept_one){.hash = hash};
    return one;
}

enum kept_step kept_use(struct pg_kept_one *one, uint64_t rows, int64_t now_mono_ms)
{
    one->rows += rows;
    bool is_old = one->rows > one->until_rows || now_mono_ms >= one->until_mono_ms;
    enum kept_step step = !one->there ? KEPT_GIVE : is_old ? KEPT_GIVE_ANEW : KEPT_USE;
    if (step != KEPT_USE) {
        one->before = one->there;
        one->there = ++one->number;
        one->until_rows = one->rows * 2;
        one->until_mono_ms = now_mono_ms + KEPT_MS;
    }
    return step;
}

void kept_learn(struct pg_kept_one *one, uint32_t number, bool dropped, bool given)
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

static void print_name(const struct pg_kept_one *one, uint32_t number, char ret[PG_KEPT_NAME])
{
    snprintf(ret, PG_KEPT_NAME, "k%016" PRIx64 "_%" PRIu32, one->hash, number);
}

void kept_name(const struct pg_kept_one *one, char ret[PG_KEPT_NAME])
{
    print_name(one, one->there, ret);
}

void kept_name_before(const struct pg_kept_one *one, char ret[PG_KEPT_NAME])
{
    print_name(one, one->before, ret);
}

void kept_forget(struct pg_kept *kept)
{
    *kept = (struct pg_kept){.is_refused = kept->is_refused};
}

bool kept_is_about_names(const char *sqlstate)
{
    return strcmp(sqlstate, "26000") == 0    /* not prepared */
           || strcmp(sqlstate, "42P05") == 0 /* prepared already */
           || strcmp(sqlstate, "0A000") == 0 /* its result type has changed with a column */
           || strcmp(sqlstate, "08P01") == 0 /* from a pooler that does not follow DEALLOCATE */;
}
