/* Encrypts again, with the new master key, partners and apps under the old (second) one. The API
 * shows no difference, so versions and ETags stay. */
#include "accounts/accounts_state.h"
#include "accounts/entry.h"

static struct partner *next_partner(struct directory *d)
{
    struct partner *found = NULL;
    directory_read_lock(d);
    for (uint32_t no = 1; no < directory_end_locked(d, ACCOUNT_PARTNER) && !found; no++) {
        const struct partner *p = directory_partner_locked(d, no);
        if (p && p->under_second_key)
            found = partner_pack(p);
    }
    directory_unlock(d);
    return found;
}

static struct app *next_app(struct directory *d)
{
    struct app *found = NULL;
    const char *why = NULL;
    directory_read_lock(d);
    for (uint32_t no = 1; no < directory_end_locked(d, ACCOUNT_APP) && !found; no++) {
        const struct app *a = directory_app_locked(d, no);
        if (a && a->under_second_key)
            ASSERT(app_pack(a, &found, &why)); /* its URLs have been read before */
    }
    directory_unlock(d);
    return found;
}

bool change_reseal(struct accounts *accounts, struct change *ret_change)
{
    CHECK_MAGIC(accounts, ACCOUNTS_MAGIC);
    struct partner *p = next_partner(accounts->options.directory);
    struct app *a = p ? NULL : next_app(accounts->options.directory);
    if (p)
        accounts_ready(accounts, ret_change, ACCOUNT_PARTNER, p, p->id);
    else if (a)
        accounts_ready(accounts, ret_change, ACCOUNT_APP, a, a->id);
    return p || a;
}
