/* The sums and the digest's lines of a statement (contract, section 6). */
#include "store/statement.h"

#include "base/alloc.h"
#include "domain/money.h"
#include "domain/payload.h"

_Static_assert(STATEMENT_DIGEST_BYTES == crypto_hash_sha256_BYTES, "SHA-256 (FIPS 180-4)");

void statement_begin(struct statement_maker *m, struct statement_query *query)
{
    *m = (struct statement_maker){.query = query};
    query->apps = NULL;
    query->count = 0;
}

static struct statement_app *app_under_way(struct statement_maker *m)
{
    return m->query->count > 0 ? &m->query->apps[m->query->count - 1] : NULL;
}

static void end_app(struct statement_maker *m)
{
    struct statement_app *app = app_under_way(m);
    if (app)
        (void)crypto_hash_sha256_final(&m->hash, app->digest);
}

static struct statement_app *begin_app(struct statement_maker *m, uint32_t app_no)
{
    struct statement_query *q = m->query;
    const struct statement_app *last = app_under_way(m);
    end_app(m);
    ASSERT(!last || last->app_no < app_no);
    *ARRAY_PUSH(q->apps, q->count, m->capacity) = (struct statement_app){.app_no = app_no};
    (void)crypto_hash_sha256_init(&m->hash);
    return &q->apps[q->count - 1];
}

static void add_line(struct statement_maker *m, const struct event *e)
{
    buf_clear(&m->line);
    buf_add_str(&m->line, e->event_id);
    buf_add_char(&m->line, '\t');
    money_print(&m->line, e->reward_micros, payload_reward_digits(e));
    buf_add_char(&m->line, '\t');
    money_print(&m->line, e->revenue_micros, 2);
    buf_add_char(&m->line, '\n');
    (void)crypto_hash_sha256_update(&m->hash, (const unsigned char *)m->line.p, m->line.n);
}

void statement_add(struct statement_maker *m, const struct event *e, enum callback_state state)
{
    if (e->is_test || e->lane == LANE_NONE)
        return;
    struct statement_app *app = app_under_way(m);
    if (!app || app->app_no != e->app_no)
        app = begin_app(m, e->app_no);
    int digits = payload_reward_digits(e);
    if (digits > app->reward_digits)
        app->reward_digits = (uint8_t)digits;
    struct statement_sums *sums = &app->sums[e->type][state];
    sums->count++;
    sums->reward_micros += e->reward_micros;
    sums->revenue_micros += e->revenue_micros;
    add_line(m, e);
}

void statement_end(struct statement_maker *m)
{
    end_app(m);
    buf_free(&m->line);
}
