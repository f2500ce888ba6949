/* A reward as the feed shows it (contract, section 6). */
#pragma once

#include "accounts/directory.h"
#include "store/store.h"
#include "json/writer.h"

/* The members that a callback has, too. with_partner: beside those of other partners. */
void reward_print_members(struct json_writer *w, struct directory *directory,
                          const struct callback_row *row, const struct app *app, bool with_partner);
