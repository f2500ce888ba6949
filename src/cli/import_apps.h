/* postbackd import apps FILE: makes the partners and apps of a file. */
#pragma once

#include "cli/client.h"

#include <stdio.h>

/* As import_people (import_people.h). */
int import_apps(struct client_session *client, FILE *f);
