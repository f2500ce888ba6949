/* Responses that the connection makes itself; handlers use server.h. Internal to http/. */
#pragma once

#include "http/conn.h"

/* The request is over, with any result: writes its line of the access log. */
void response_log(struct conn *c);
/* Sets the request's id: the client's, or a new one. */
void response_choose_id(struct conn *c);
/* The handler has not answered in time. */
void response_late(struct conn *c);
/* Answers a request that no handler sees with a problem. */
void response_problem(struct conn *c, int status, const char *detail);
