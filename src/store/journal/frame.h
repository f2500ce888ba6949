/* The bytes of a journal: the head of a segment file and the frame around a group. Pure.
 * docs/journal.md has the layout and says why each field is there. */
#pragma once

#include "base/check.h"
#include "base/str.h"

#include <stdint.h>

#define JOURNAL_BLOCK_BYTES 4096u
#define FRAME_HEAD_BYTES 64u

struct segment_head {
    uint64_t journal_id;
    uint64_t segment;
    uint64_t segment_bytes;
};

struct frame_head {
    uint64_t journal_id;
    uint64_t segment;
    uint64_t sequence; /* 1 for the journal's first group, then consecutive */
    uint64_t offset;   /* of the frame in its segment */
    uint32_t length;   /* of the records */
};

/* Size of a frame on disk: head, records, zeros up to a whole block. */
static inline size_t frame_bytes(size_t records_bytes)
{
    return (FRAME_HEAD_BYTES + records_bytes + JOURNAL_BLOCK_BYTES - 1) &
           ~(size_t)(JOURNAL_BLOCK_BYTES - 1);
}

void segment_head_write(char *block, const struct segment_head *head);
MUST_CHECK bool segment_head_read(const char *block, struct segment_head *ret);

/* The caller has filled `frame` with the records at FRAME_HEAD_BYTES and zeros behind them. */
void frame_seal(char *frame, const struct frame_head *head);
/* False: no frame begins here. frame_is_whole checks the checksum, this does not. */
MUST_CHECK bool frame_head_read(const char *block, struct frame_head *ret);
/* True if a group was written to this place of the segment, whole or not. */
bool frame_is_of(const struct frame_head *head, const struct segment_head *segment,
                 uint64_t offset);
/* For a reader that reads a frame in pieces: the CRC-32C of all bytes from FRAME_SUM_FROM to the
 * end of the records, begun with 0, must equal this stored one. */
#define FRAME_SUM_FROM 8u
uint32_t frame_sum(const char *block);
/* `frame`: frame_bytes(head->length) bytes. */
MUST_CHECK bool frame_is_whole(const char *frame, const struct frame_head *head);
