/* Short reads: reports, callbacks, lists, objects. */
#pragma once

#include "store/postgresql/postgresql_store.h"

enum pg_fate pg_read_report(struct postgresql_store *s, struct pg *pg, void *report_query);
enum pg_fate pg_read_callback(struct postgresql_store *s, struct pg *pg, void *callback_get);
enum pg_fate pg_read_list(struct postgresql_store *s, struct pg *pg, void *callback_list);
enum pg_fate pg_read_objects(struct postgresql_store *s, struct pg *pg, void *object_list);
