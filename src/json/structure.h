/* The C face of the one C++ file: where the tokens of a JSON text begin.
 *
 * simdjson's first stage finds, at several bytes a cycle, every bracket, comma, colon, opening
 * quote and first byte of a number or word, and checks UTF-8, unclosed strings and control
 * characters in strings. What the tokens mean and whether they stand in the right order is
 * decided by reader.c. Internal to json/. */
#pragma once

#include "base/str.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum structure_fault {
    STRUCTURE_OK,
    STRUCTURE_EMPTY,
    STRUCTURE_UTF8,
    STRUCTURE_UNCLOSED_STRING,
    STRUCTURE_CONTROL_CHARACTER,
    STRUCTURE_FAILED /* no memory, or a text of 1 GB */
};

struct structure;

struct structure *structure_new(void);
void structure_free(struct structure *s);

/* *ret_places: ascending offsets below text.n, owned by `s` until its next use. */
enum structure_fault structure_find(struct structure *s, struct str text,
                                    const uint32_t **ret_places, uint32_t *ret_count);

#ifdef __cplusplus
}
#endif
