/* GET /api/v1/callbacks of an operator who names no partner. */
#pragma once

#include "api/call.h"

void all_callbacks_list(struct call *c);
