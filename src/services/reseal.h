/* Changes the master key online: secrets sealed under the second key are sealed again under the
 * first, a few entries at a time between other changes. */
#pragma once

#include "accounts/changes.h"
#include "people/people.h"
#include "services/control.h"

struct reseal;

struct reseal *reseal_new(struct control *control, struct accounts *accounts,
                          struct people *people);
/* On the main thread, often: asks the control thread for the next slice, if there is work. */
void reseal_step(struct reseal *reseal);
void reseal_free(struct reseal *reseal); /* after control_free; NULL: nothing */
