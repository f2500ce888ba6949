/*
 * Threads that take turns, so that a seed is a run on every machine: one thread runs at a time, and
 * wherever threads meet (a mutex, a condition, a new thread, the simulated disk) the seed says who
 * goes on. Time is virtual: it stands still while anybody can run, and jumps to the next deadline
 * when all wait.
 *
 * The linker puts turns.c between the program and pthreads and the clock (--wrap, see meson.build).
 * The code under test knows nothing of it. Outside of turns_begin and turns_end all is as ever.
 */
#pragma once

#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>

/* From here on the calling thread and those that it starts take turns. */
void turns_begin(uint64_t seed);
/* Every thread that was started has been joined. Returns the trace: equal for equal runs. */
uint64_t turns_end(void);
/* Others may go on here. */
void turns_pause(void);
/* Waits in virtual time; false: turns are off, the caller waits in its own way. */
MUST_CHECK bool turns_sleep_us(int64_t us);
/* How often time has jumped: how often somebody has waited for the clock, and nobody could run. */
uint64_t turns_jumps(void);
/* Adds to the trace what two equal runs must have in common. */
void turns_note(uint64_t what);
