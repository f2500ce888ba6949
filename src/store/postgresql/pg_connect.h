/* Opens and closes connections. */
#pragma once

#include "store/postgresql/connection.h"

void pg_init(struct pg *pg, const char *uri);
void pg_close(struct pg *pg); /* rolls back an open transaction */
/* Connects if there is no connection. Blocks for seconds. False: pg->why is a sentence. */
MUST_CHECK bool pg_connect(struct pg *pg);
/* Connects to that server of the URI, whether it can be written or not. */
MUST_CHECK bool pg_connect_to_host(struct pg *pg, int host);

/* Between connection.c and pg_connect.c. */
void pg_clear_results(struct pg *pg);
void pg_disconnect(struct pg *pg);
void pg_set_why(struct pg *pg, const char *text);
int64_t pg_give_up_mono_ms(const struct pg *pg); /* 0: no stop is announced */
