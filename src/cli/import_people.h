/* postbackd import people FILE: invites the people of a file. */
#pragma once

#include "cli/client.h"

#include <stdio.h>

/* Reads the whole file before it sends anything. Returns the exit status; faults are printed on
 * standard error, line by line. */
int import_people(struct client_session *client, FILE *f);
