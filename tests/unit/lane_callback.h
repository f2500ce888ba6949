/* A callback of one lane, account 1 and app 1, as tests of lanes need it. */
#pragma once

#include "store/callback.h"

struct callback *callback_numbered(uint64_t event_no, int64_t accepted_ms);
