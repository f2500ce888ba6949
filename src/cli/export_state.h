/* An export's progress, as the JSON stored beside its output. */
#pragma once

#include "cli/export_file.h"
#include "json/reader.h"
#include "json/writer.h"

void export_state_print(struct json_writer *w, struct str identity, int64_t bytes,
                        const struct export_place *place);
/* Whether it can be read, and belongs to that export. */
bool export_state_is_whole(const struct json *state);
bool export_state_is_of(const struct json *state, struct str identity);
int64_t export_state_int(const struct json *state, const char *name); /* 0: absent */
void export_state_take_place(const struct json *state, struct export_place *place);
