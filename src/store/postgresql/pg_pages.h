/* Reads pages of due callbacks. */
#pragma once

#include "store/postgresql/postgresql_store.h"

/* The requests must be all brief, or none. */
enum pg_fate pg_read_pages(struct postgresql_store *s, struct pg *pg, void *request_list);
