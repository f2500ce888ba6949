/* The thread that records outcomes. */
#pragma once

#include "store/postgresql/postgresql_store.h"

void *pg_outcomes_main(void *arg);
