/* Writes the events of a group. */
#pragma once

#include "store/postgresql/pg_intake.h"

/* Statements that write all that was accepted. */
void pg_intake_write(struct pg_intake *in);
