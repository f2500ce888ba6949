/* Records in the store when a key was last used; see accounts/key_use.c. */
#pragma once

#include "services/control.h"

/* Any thread; durable soon after. */
void key_note_use(struct control *control, struct str key_id);
