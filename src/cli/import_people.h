/* postbackd import people FILE: invites the people of a file. */
#pragma once

#include "cli/client.h"

#include <stdio.h>

/* Reads the whole file before it asks for anything. Returns the exit status; what is wrong is said
 * on standard error, line by line. */
int import_people(struct client_session *client, FILE *f);
