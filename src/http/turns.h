/* The turns of large bodies: see turns.c. Inside http/. */
#pragma once

#include "http/conn.h"

/* How many of n bytes may be read now. 0: the body waits for a turn. */
size_t conn_take_turn(struct conn *c, size_t n);
void conn_keep_turn(struct conn *c); /* the body is complete: keeps the turn until conn_end_turn */
void conn_pass_turn(struct conn *c); /* the client sends nothing at the moment */
void conn_end_turn(struct conn *c);

void server_turns_open(struct http_server *server);
