/* When a key expires and when it was last used. Using a key must not cause a write. So the time of
 * the last use is kept in memory and written to the store only from time to time. */
#include "accounts/accounts_state.h"
#include "accounts/entry.h"

bool api_key_is_over(const struct api_key *k, int64_t now_ms)
{
    return k->expires_ms && now_ms >= k->expires_ms;
}

bool api_key_use(struct api_key *k, int64_t now_ms)
{
    atomic_store(&k->used_ms, now_ms);
    return k->key_no && now_ms - k->stored_used_ms > KEY_USED_LAG_MS &&
           !atomic_exchange(&k->noting_use, true);
}

bool change_key_used(struct accounts *accounts, struct str key_id, struct change *ret_change)
{
    CHECK_MAGIC(accounts, ACCOUNTS_MAGIC);
    struct api_key *now = directory_key(accounts->options.directory, key_id);
    if (!now)
        return false;
    struct api_key next;
    memcpy(&next, now, sizeof next);
    next.stored_used_ms = atomic_load(&now->used_ms);
    atomic_init(&next.noting_use, false);
    atomic_store(&now->noting_use, false); /* if this entry is not replaced, it may ask again */
    struct api_key *entry = api_key_pack(&next);
    accounts_ready(accounts, ret_change, ACCOUNT_KEY, entry, entry->id);
    api_key_unref(now);
    return true;
}
