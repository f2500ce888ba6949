/* The kinds of store there are, by name. */
#pragma once

#include "subject.h"

bool opener_find(const char *name, struct subject *ret);
void opener_memory(struct subject *ret); /* the oracle */
