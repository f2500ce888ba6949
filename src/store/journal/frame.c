/* Heads of segments and frames, little-endian at fixed offsets.
 *
 *     segment:  0 magic  4 crc  8 journal id  16 segment  24 segment bytes  32 format
 *     frame:    0 magic  4 crc  8 journal id  16 segment  24 sequence  32 offset  40 length
 *
 * Both checksums are CRC-32C of everything behind them: in a segment, the rest of its first 64
 * bytes; in a frame, the rest of its head and its records. */
#include "store/journal/frame.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "store/journal/journal.h"

#define SEGMENT_MAGIC 0x47455350u /* "PSEG" */
#define FRAME_MAGIC 0x4d524650u   /* "PFRM" */
#define FORMAT 1u
#define CRC_FROM FRAME_SUM_FROM

void segment_head_write(char *block, const struct segment_head *head)
{
    memset(block, 0, JOURNAL_BLOCK_BYTES);
    put_le32(block, SEGMENT_MAGIC);
    put_le64(block + 8, head->journal_id);
    put_le64(block + 16, head->segment);
    put_le64(block + 24, head->segment_bytes);
    put_le32(block + 32, FORMAT);
    put_le32(block + 4, hash_crc32c(0, block + CRC_FROM, FRAME_HEAD_BYTES - CRC_FROM));
}

bool segment_head_read(const char *block, struct segment_head *ret)
{
    if (get_le32(block) != SEGMENT_MAGIC || get_le32(block + 32) != FORMAT)
        return false;
    if (get_le32(block + 4) != hash_crc32c(0, block + CRC_FROM, FRAME_HEAD_BYTES - CRC_FROM))
        return false;
    *ret = (struct segment_head){get_le64(block + 8), get_le64(block + 16), get_le64(block + 24)};
    return true;
}

void frame_seal(char *frame, const struct frame_head *head)
{
    memset(frame, 0, FRAME_HEAD_BYTES);
    put_le32(frame, FRAME_MAGIC);
    put_le64(frame + 8, head->journal_id);
    put_le64(frame + 16, head->segment);
    put_le64(frame + 24, head->sequence);
    put_le64(frame + 32, head->offset);
    put_le32(frame + 40, head->length);
    put_le32(frame + 4,
             hash_crc32c(0, frame + CRC_FROM, FRAME_HEAD_BYTES - CRC_FROM + head->length));
}

bool frame_head_read(const char *block, struct frame_head *ret)
{
    if (get_le32(block) != FRAME_MAGIC || get_le32(block + 40) > JOURNAL_GROUP_MAX_BYTES)
        return false;
    *ret = (struct frame_head){
        .journal_id = get_le64(block + 8),
        .segment = get_le64(block + 16),
        .sequence = get_le64(block + 24),
        .offset = get_le64(block + 32),
        .length = get_le32(block + 40),
    };
    return true;
}

bool frame_is_of(const struct frame_head *head, const struct segment_head *segment, uint64_t offset)
{
    return head->journal_id == segment->journal_id && head->segment == segment->segment &&
           head->offset == offset && head->sequence != 0 &&
           frame_bytes(head->length) <= segment->segment_bytes - offset;
}

uint32_t frame_sum(const char *block)
{
    return get_le32(block + 4);
}

bool frame_is_whole(const char *frame, const struct frame_head *head)
{
    return get_le32(frame + 4) ==
           hash_crc32c(0, frame + CRC_FROM, FRAME_HEAD_BYTES - CRC_FROM + head->length);
}
