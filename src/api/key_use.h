/* The store learns when a key was used last; see accounts/key_use.c. */
#pragma once

#include "api/call.h"

/* Any thread; durable soon after. */
void key_note_use(struct api *api, struct str key_id);
