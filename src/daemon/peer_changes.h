/* Changes by other nodes on the same store, passed on to the parts of this one. */
#pragma once

#include "delivery/delivery.h"
#include "operations/operations.h"
#include "people/people.h"
#include "services/control.h"
#include "services/recovery.h"

struct peer_changes {
    struct store_watcher watcher;
    struct api *api;
    struct executor *executor; /* a loop's */
    struct directory *directory;
    struct accounts *accounts;
    struct people *people;
    struct delivery *delivery;
    struct control *control;
    struct recoveries *recoveries;
    struct operations *operations;
};

/* Until store_watch with another. */
void peer_changes_watch(struct peer_changes *e, struct store *store);
/* Takes in one object; on the control thread. */
void peer_changes_refresh(struct peer_changes *e, struct arena *arena,
                          const struct object_part *object);
