/* Reads the members of a stored document, with the same checks as for a request's body (fields.h).
 * The error of document_read_end names the first member that is missing or wrong. */
#pragma once

#include "accounts/fields.h"
#include "accounts/vault.h"

/* Tables are as long as the highest number: a number in a document edited by hand must not make
 * them fill the memory. */
#define DOCUMENT_NUMBER_MAX 100000000

struct document_reader {
    struct fields fields; /* over the document */
    struct problems faults;
    struct arena *arena;
    const struct vault *vault; /* NULL: the document has nothing sealed */
    bool under_second;         /* the vault's second key has opened something */
    bool is_sealed;            /* the first fault is that the vault could not open the member */
};

void document_read_begin(struct document_reader *r, struct arena *arena,
                         const struct json *document, const struct vault *vault);
/* True if there was no fault. False: *ret_why names the member. */
MUST_CHECK bool document_read_end(const struct document_reader *r, const char *kind,
                                  struct str name, struct str *ret_why);

void document_wrong(struct document_reader *r, const char *name);
void document_cannot_open(struct document_reader *r, const char *name);
/* Required members. */
struct str document_text(struct document_reader *r, const char *name);
struct str document_id(struct document_reader *r, const char *name);
int64_t document_number(struct document_reader *r, const char *name, int64_t least, int64_t most);
bool document_flag(struct document_reader *r, const char *name);
