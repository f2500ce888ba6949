/* The name of a process: machine, boot, process namespace, number and start time. A process that
 * starts again on a machine, or runs beside another, need not wait for the lease of a process that
 * was killed: it checks whether that process still exists. */
#pragma once

#include "base/str.h"

#define PROCESS_IDENTITY_BYTES 160

void process_identity(char ret[PROCESS_IDENTITY_BYTES]); /* of this process */
/* True if the holder was a process of this machine and has ended. False: it runs, or this is
 * unknown. */
bool process_is_gone(struct str holder);
