/* How many callbacks wait in an app's lanes, and since when. */
#pragma once

#include "store/postgresql/postgresql_store.h"

enum pg_fate pg_read_waiting(struct postgresql_store *s, struct pg *pg, void *lane_waiting);
