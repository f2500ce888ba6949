/* Counts the different callbacks in a row that an endpoint answered with 410; see gone_run.h. */
#include "domain/gone_run.h"

bool gone_run_add(struct gone_run *run, uint64_t event_no)
{
    for (int32_t i = 0; i < run->count; i++)
        if (run->event_nos[i] == event_no)
            return run->count == GONE_RUN_DISABLES;
    if (run->count < GONE_RUN_DISABLES)
        run->event_nos[run->count++] = event_no;
    return run->count == GONE_RUN_DISABLES;
}

void gone_run_end(struct gone_run *run)
{
    run->count = 0;
}
