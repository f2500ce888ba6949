/* The table of pending resends. The hash is one to one, so a node with the same hash is the right
 * one. */
#include "store/sqlite/resent.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"

#include <stdlib.h>

struct resent_one {
    struct hash_node node;
    struct pending_resend resend;
};

void resent_add(struct resent *r, uint64_t id, int64_t due_ms)
{
    struct pending_resend *resend = resent_find(r, id);
    if (!resend) {
        struct resent_one *one = xcalloc(1, sizeof *one);
        hash_map_add(&r->resends, &one->node, hash_number(id));
        resend = &one->resend;
    }
    *resend = (struct pending_resend){++r->last_no, due_ms};
}

struct pending_resend *resent_find(const struct resent *r, uint64_t id)
{
    struct hash_node *node = hash_map_first(&r->resends, hash_number(id));
    return node ? &CONTAINER_OF(node, struct resent_one, node)->resend : NULL;
}

uint64_t resent_no(const struct resent *r, uint64_t id)
{
    const struct pending_resend *resend = resent_find(r, id);
    return resend ? resend->no : 0;
}

void resent_remove(struct resent *r, struct pending_resend *found)
{
    struct resent_one *one = CONTAINER_OF(found, struct resent_one, resend);
    hash_map_remove(&r->resends, &one->node);
    free(one);
    if (r->resends.count == 0)
        hash_map_free(&r->resends);
}

static void drop(void *context, struct hash_node *node)
{
    (void)context;
    free(CONTAINER_OF(node, struct resent_one, node));
}

void resent_free(struct resent *r)
{
    hash_map_visit(&r->resends, drop, NULL);
    hash_map_free(&r->resends);
}
