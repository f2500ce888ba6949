/* Which addresses callbacks may go to: see destination_rules.h. */
#include "domain/destination_rules.h"

static bool any_covers(const struct cidr *list, size_t count, const struct address *a)
{
    for (size_t i = 0; i < count; i++)
        if (cidr_covers(&list[i], a))
            return true;
    return false;
}

enum destination_verdict destination_judge(const struct destination_rules *rules,
                                           const struct address *a)
{
    struct address v4;
    if (any_covers(rules->denied, rules->denied_count, a) ||
        (address_embedded_v4(a, &v4) && any_covers(rules->denied, rules->denied_count, &v4)))
        return DESTINATION_DENIED;
    if (any_covers(rules->allowed, rules->allowed_count, a))
        return DESTINATION_ALLOWED;
    return address_is_public(a) ? DESTINATION_PUBLIC : DESTINATION_NOT_PUBLIC;
}
