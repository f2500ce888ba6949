/* Passes changes by other nodes on the same store to the parts of this daemon. */
#pragma once

#include "daemon/object_owners.h"
#include "delivery/delivery.h"
#include "services/control.h"

struct peer_changes {
    struct store_watcher watcher;
    struct api *api;
    struct executor *executor; /* of a loop */
    struct object_owners owners;
    struct delivery *delivery;
    struct control *control;
};

/* Watches the store until store_watch is called with another watcher. */
void peer_changes_watch(struct peer_changes *e, struct store *store);
/* Takes over one object; on the control thread. */
void peer_changes_refresh(struct peer_changes *e, struct arena *arena,
                          const struct object_part *object);
