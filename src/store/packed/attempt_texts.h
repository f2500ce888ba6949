/* What an attempt sent and got, for a store with a row for each attempt: the texts of its request
 * headers, its response headers and its response body (text_pieces.h), as one packed text. The URL
 * and the detail are not among them, because an erasure keeps them. */
#pragma once

#include "store/packed/packed_text.h"
#include "store/packed/text_pieces.h"

/* Zero-initialised it is ready; of one thread at a time. */
struct attempt_packer {
    struct text_writer writer;
    struct text_packer text; /* for other texts of the same thread, too */
};

void attempt_packer_free(struct attempt_packer *p);
/* Valid until the next call; absent if all three are. */
struct str attempt_texts_pack(struct attempt_packer *p, const struct attempt *a,
                              const struct attempt_facts *facts);
/* Reads into an attempt that has its number and at_ms; its texts are in the arena. False: the bytes
 * are damaged, and the texts are absent. */
MUST_CHECK bool attempt_texts_read(struct str packed, const struct attempt_facts *facts,
                                   struct arena *arena, struct attempt *a);
