/* Decides which secrets are live: an app's Callback Secrets, or a partner's secrets for operations
 * messages. After a rotation the older secrets sign together with the newest until their overlap
 * ends. Sig can be made with one secret only; the partner chose when Sig changes to the new one. */
#include "accounts/accounts.h"

static bool live(const struct older_secret *older, int64_t now_ms)
{
    return older->text.p && now_ms < older->until_ms;
}

struct str secrets_sig(const struct secrets *s, int64_t now_ms)
{
    ASSERT(s->sig_older <= LIMIT_OLDER_SECRETS);
    const struct older_secret *kept = s->sig_older ? &s->older[s->sig_older - 1] : NULL;
    return kept && live(kept, now_ms) ? kept->text : s->newest;
}

size_t secrets_live(const struct secrets *s, int64_t now_ms,
                    struct str ret_secrets[LIVE_SECRETS_MOST])
{
    size_t count = 0;
    ret_secrets[count++] = s->newest;
    for (size_t i = 0; i < LIMIT_OLDER_SECRETS; i++)
        if (live(&s->older[i], now_ms))
            ret_secrets[count++] = s->older[i].text;
    return count;
}

int64_t secrets_older_until_ms(const struct secrets *s, int64_t now_ms)
{
    int64_t until_ms = 0;
    for (size_t i = 0; i < LIMIT_OLDER_SECRETS; i++)
        if (live(&s->older[i], now_ms) && s->older[i].until_ms > until_ms)
            until_ms = s->older[i].until_ms;
    return until_ms;
}

bool secrets_rotate(struct secrets *s, struct str next, int64_t now_ms, int64_t overlap_ms,
                    bool sig_at_end)
{
    struct secrets rotated = {.newest = next};
    size_t count = 0;
    struct str sig = secrets_sig(s, now_ms);
    if (overlap_ms) {
        rotated.older[count++] = (struct older_secret){s->newest, now_ms + overlap_ms};
        for (size_t i = 0; i < LIMIT_OLDER_SECRETS; i++) {
            if (!live(&s->older[i], now_ms))
                continue;
            if (count == LIMIT_OLDER_SECRETS)
                return false;
            rotated.older[count++] = s->older[i];
        }
    }
    for (size_t i = 0; i < count; i++) {
        struct older_secret *older = &rotated.older[i];
        if (older->text.p != sig.p)
            continue;
        if (older->until_ms < now_ms + overlap_ms)
            older->until_ms = now_ms + overlap_ms;
        if (sig_at_end)
            rotated.sig_older = (uint8_t)(i + 1);
    }
    *s = rotated;
    return true;
}
