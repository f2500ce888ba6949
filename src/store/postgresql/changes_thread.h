/* The thread that runs changes. */
#pragma once

#include "store/postgresql/postgresql_store.h"

void *pg_changes_main(void *arg);
void pg_changes_refuse_old(struct postgresql_store *s); /* on the changes thread */
