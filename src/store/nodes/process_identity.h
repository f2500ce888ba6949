/* The name of a process: its machine, its boot, itself and when it started. So that whoever starts
 * again on a machine, or runs beside it, need not wait for the lease of a process that was killed:
 * it looks whether that is still there. */
#pragma once

#include "base/str.h"

#define PROCESS_IDENTITY_BYTES 160

void process_identity(char ret[PROCESS_IDENTITY_BYTES]); /* this process */
/* Whether the holder is a process of this machine and no longer there. False: nobody knows. */
bool process_is_gone(struct str holder);
