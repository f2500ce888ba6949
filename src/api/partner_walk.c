/* The loop over all partners; see partner_walk.h. */
#include "api/partner_walk.h"

#include "accounts/directory.h"
#include "api/internal.h"

void partner_walk_begin(struct partner_walk *w)
{
    struct directory *d = w->c->api->options.directory;
    bool found = directory_list_partners(d, w->last_no, &w->partner, 1) > 0;
    if (found && w->left > 0 && !w->c->r->gone) {
        w->read(w);
        return;
    }
    if (found)
        partner_unref(w->partner);
    w->end(w, found);
}

void partner_walk_next(struct partner_walk *w)
{
    w->last_no = w->partner->account_no;
    w->left--;
    partner_unref(w->partner);
    partner_walk_begin(w);
}

void partner_walk_abort(struct partner_walk *w)
{
    partner_unref(w->partner);
}
