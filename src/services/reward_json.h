/* A reward as the feed shows it (contract, section 6). */
#pragma once

#include "accounts/directory.h"
#include "store/store.h"
#include "json/writer.h"

/* The members that rewards and callbacks share. with_partner: for lists of several partners. */
void reward_print_members(struct json_writer *w, struct directory *directory,
                          const struct callback_row *row, const struct app *app, bool with_partner);
