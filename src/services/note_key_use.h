/* The store learns when a key was used last; see accounts/key_use.c. */
#pragma once

#include "services/control.h"

/* Any thread; durable soon after. */
void key_note_use(struct control *control, struct str key_id);
