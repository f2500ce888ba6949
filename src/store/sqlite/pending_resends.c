/* The table of pending resends. hash_number is one to one, so a node with the hash of a callback's
 * id belongs to that callback. */
#include "store/sqlite/pending_resends.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"

#include <stdlib.h>

struct resend_node {
    struct hash_node node;
    struct pending_resend resend;
};

void pending_resends_add(struct pending_resends *r, uint64_t id, int64_t due_ms)
{
    struct pending_resend *resend = pending_resends_find(r, id);
    if (!resend) {
        struct resend_node *one = xcalloc(1, sizeof *one);
        hash_map_add(&r->by_id, &one->node, hash_number(id));
        resend = &one->resend;
    }
    *resend = (struct pending_resend){++r->last_no, due_ms};
}

struct pending_resend *pending_resends_find(const struct pending_resends *r, uint64_t id)
{
    struct hash_node *node = hash_map_first(&r->by_id, hash_number(id));
    return node ? &CONTAINER_OF(node, struct resend_node, node)->resend : NULL;
}

uint64_t pending_resends_no(const struct pending_resends *r, uint64_t id)
{
    const struct pending_resend *resend = pending_resends_find(r, id);
    return resend ? resend->no : 0;
}

void pending_resends_remove(struct pending_resends *r, struct pending_resend *found)
{
    struct resend_node *one = CONTAINER_OF(found, struct resend_node, resend);
    hash_map_remove(&r->by_id, &one->node);
    free(one);
    if (r->by_id.count == 0)
        hash_map_free(&r->by_id);
}

static void drop(void *context, struct hash_node *node)
{
    (void)context;
    free(CONTAINER_OF(node, struct resend_node, node));
}

void pending_resends_free(struct pending_resends *r)
{
    hash_map_visit(&r->by_id, drop, NULL);
    hash_map_free(&r->by_id);
}
