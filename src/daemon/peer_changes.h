/* Changes by other nodes on the same store, passed on to the parts of this one. */
#pragma once

#include "daemon/object_owners.h"
#include "delivery/delivery.h"
#include "services/control.h"

struct peer_changes {
    struct store_watcher watcher;
    struct api *api;
    struct executor *executor; /* a loop's */
    struct object_owners owners;
    struct delivery *delivery;
    struct control *control;
};

/* Until store_watch with another. */
void peer_changes_watch(struct peer_changes *e, struct store *store);
/* Takes in one object; on the control thread. */
void peer_changes_refresh(struct peer_changes *e, struct arena *arena,
                          const struct object_part *object);
