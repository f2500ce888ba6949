/* Which addresses callbacks may go to: see destination_rules.h. Which addresses are public:
 * domain/address.c. */
#include "domain/destination_rules.h"

#include "base/alloc.h"

#include <stdlib.h>

static struct cidr *copy(const struct cidr *list, size_t count)
{
    struct cidr *own = xcalloc(count + 1, sizeof *own);
    if (count > 0)
        memcpy(own, list, count * sizeof *own);
    return own;
}

struct destination_rules destination_rules_copy(const struct destination_rules *rules)
{
    return (struct destination_rules){
        .allowed = copy(rules->allowed, rules->allowed_count),
        .allowed_count = rules->allowed_count,
        .denied = copy(rules->denied, rules->denied_count),
        .denied_count = rules->denied_count,
    };
}

void destination_rules_free(struct destination_rules *rules)
{
    free((void *)rules->allowed);
    free((void *)rules->denied);
    *rules = (struct destination_rules){0};
}

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
