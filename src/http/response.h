/* Responses as the connection makes them; what handlers call: server.h. Inside http/. */
#pragma once

#include "http/conn.h"

/* The request is over, whatever became of it: its line of the access log. */
void response_log(struct conn *c);
/* The request's id, the client's or a new one. */
void response_choose_id(struct conn *c);
/* The handler has not answered in time. */
void response_late(struct conn *c);
/* A whole problem response to a request that no handler sees. */
void response_problem(struct conn *c, int status, const char *detail);
