/* The threads that read. */
#pragma once

#include "store/postgresql/postgresql_store.h"

void *pg_pages_main(void *arg);
void *pg_reader_main(void *arg); /* arg: a struct pg_reader */
