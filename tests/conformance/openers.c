/* Opens each kind of store by its name. */
#include "openers.h"

#include <string.h>

static struct store *open_memory(struct subject *s)
{
    return memory_store_open(&s->env->env);
}

void opener_memory(struct subject *ret)
{
    *ret = (struct subject){.name = "memory", .open = open_memory};
}

bool opener_find(const char *name, struct subject *ret)
{
    if (strcmp(name, "memory") == 0)
        opener_memory(ret);
    else
        return false;
    return true;
}
