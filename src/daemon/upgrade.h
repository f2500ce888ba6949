/* While a store of an older version is brought up to date: says how far it is, and heeds a stop. */
#pragma once

#include "base/env.h"
#include "store/store_open.h"

struct upgrade_watch {
    struct env *env;
    int step; /* told last; 0: nothing yet */
    int64_t told_mono_ms;
};

/* sqlite_store_options.upgrade_goes_on; the context is an upgrade_watch. */
bool upgrade_goes_on(void *watch, const struct store_upgrade *at);
