/* Hands out what has become due. On the writer's thread. */
#pragma once

#include "store/sqlite/sqlite_store.h"

/* The callbacks that the group has made due. */
void writer_hand_out(struct sqlite_store *s);
void writer_hand_out_recovered(struct sqlite_store *s);
