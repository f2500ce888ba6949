/* docs/state.md has tables that its own tests print from the code. */
#pragma once

#include "check.h"

#include <stdlib.h>

/* Whether the page has the table, which is freed. */
void check_state_page(char *table);
