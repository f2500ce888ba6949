/* The signals that the daemon handles: blocked everywhere, taken by the main thread. */
#pragma once

/* Waits for a signal. 0: a quarter of a second has passed, so that the caller can look at the
 * store. */
int signals_next(void);
