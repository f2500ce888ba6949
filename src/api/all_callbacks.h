/* GET /api/v1/callbacks for an operator who gives no partnerId: the callbacks of all partners. */
#pragma once

#include "api/call.h"

void all_callbacks_list(struct call *c);
