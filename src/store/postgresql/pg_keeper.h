/* The keeper: periodic work. */
#pragma once

#include "store/postgresql/postgresql_store.h"

void *pg_keeper_main(void *arg);
/* Reads the numbers. */
MUST_CHECK enum pg_fate pg_keeper_look(struct postgresql_store *s, struct pg *pg);
