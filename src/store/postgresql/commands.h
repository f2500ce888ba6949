/* Single changes: objects, resends, erasures. */
#pragma once

#include "store/postgresql/postgresql_store.h"

enum pg_fate pg_change_object(struct postgresql_store *s, struct pg *pg, void *object_change);
enum pg_fate pg_resend(struct postgresql_store *s, struct pg *pg, void *what);
enum pg_fate pg_erase(struct postgresql_store *s, struct pg *pg, void *what);
