/* The signals that mean something to the daemon; blocked everywhere, taken by the main thread. */
#pragma once

/* Waits for one; 0 every quarter of a second, to look at the store. */
int signals_next(void);
