/* Counts and logs what the database refuses. */
#include "store/postgresql/refusals.h"

#include "base/env.h"
#include "base/log.h"

#define LOG_PAUSE_MS 1000

static long long pack(const char *sqlstate)
{
    long long packed = 0;
    for (int i = 0; i < SQLSTATE_BYTES - 1 && sqlstate[i]; i++)
        packed = packed << 8 | (unsigned char)sqlstate[i];
    return packed;
}

static void unpack(long long packed, char ret[SQLSTATE_BYTES])
{
    for (int i = SQLSTATE_BYTES - 1; i-- > 0; packed >>= 8)
        ret[i] = (char)(packed & 0xff);
    ret[SQLSTATE_BYTES - 1] = 0;
}

void refusals_note(struct pg_refusals *r, const char *sqlstate, const char *why)
{
    long long now = env_mono_ms(env_real()), logged = atomic_load(&r->log_mono_ms);
    long long count = atomic_fetch_add(&r->count, 1) + 1;
    atomic_store(&r->last, pack(sqlstate));
    atomic_store(&r->last_mono_ms, now);
    if (logged && now - logged < LOG_PAUSE_MS)
        return;
    atomic_store(&r->log_mono_ms, now);
    log_error("statement_refused", LOG_C("sqlstate", sqlstate), LOG_C("why", why),
              LOG_INT("since_start", count));
}

int64_t refusals_last(struct pg_refusals *r, char ret_sqlstate[SQLSTATE_BYTES])
{
    long long last = atomic_load(&r->last_mono_ms);
    unpack(atomic_load(&r->last), ret_sqlstate);
    return last ? env_mono_ms(env_real()) - last : -1;
}
