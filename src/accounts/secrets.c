/* Which of an app's Callback Secrets are live, and of a partner's for operational messages. After a
 * rotation the older one signs beside the newer until its overlap ends; Sig has room for one only,
 * and the partner chose when it changes.
 */
#include "accounts/accounts.h"

struct str app_sig_secret(const struct app *a, int64_t now_ms)
{
    bool older = a->older_secret.p && a->sig_uses_older && now_ms < a->older_secret_until_ms;
    return older ? a->older_secret : a->secret;
}

size_t app_live_secrets(const struct app *a, int64_t now_ms, struct str ret_secrets[2])
{
    ret_secrets[0] = a->secret;
    if (!a->older_secret.p || now_ms >= a->older_secret_until_ms)
        return 1;
    ret_secrets[1] = a->older_secret;
    return 2;
}

size_t partner_live_secrets(const struct partner *p, int64_t now_ms, struct str ret_secrets[2])
{
    ret_secrets[0] = p->operations_secret;
    if (!p->older_operations_secret.p || now_ms >= p->older_operations_secret_until_ms)
        return 1;
    ret_secrets[1] = p->older_operations_secret;
    return 2;
}
