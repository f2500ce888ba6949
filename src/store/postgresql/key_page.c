/* A page of packed keys, as bytes. */
#include "store/postgresql/key_page.h"

#include "base/bytes.h"

#define KEY_BYTES 16u
#define CONTENT_BYTES 8u
#define NUMBER_BYTES (KEY_EVENT_NO_BITS / 8u)
#define ENTRY_BYTES (KEY_BYTES + CONTENT_BYTES + NUMBER_BYTES)
_Static_assert(KEY_BYTES *KEY_PAGE_MOST == 1056, "KEYS_OF_FULL_PAGE");
_Static_assert(KEY_BYTES == 16 && CONTENT_BYTES == 8 && NUMBER_BYTES == 6,
               "FIND_KEY, BEHIND_KEYS, PACKED_CONTENT and PACKED_EVENT_NO");

int packed_key_compare(const void *a, const void *b)
{
    const struct packed_key *x = a, *y = b;
    return key128_compare(x->key, y->key);
}

static void add_number(struct buf *page, uint64_t number, size_t bytes)
{
    char all[8];
    put_be64(all, number);
    buf_add(page, all + sizeof all - bytes, bytes);
}

static uint64_t read_number(const char *p, size_t bytes)
{
    char all[8] = {0};
    memcpy(all + sizeof all - bytes, p, bytes);
    return get_be64(all);
}

void key_page_add(struct buf *page, const struct packed_key *keys, size_t count)
{
    ASSERT(count > 0 && count <= KEY_PAGE_MOST);
    for (size_t i = 0; i < count; i++) {
        ASSERT(i == 0 || packed_key_compare(&keys[i - 1], &keys[i]) < 0);
        add_number(page, keys[i].key.hi, 8);
        add_number(page, keys[i].key.lo, 8);
    }
    for (size_t i = 0; i < count; i++) {
        ASSERT(keys[i].event_no >> KEY_EVENT_NO_BITS == 0);
        add_number(page, keys[i].content, CONTENT_BYTES);
        add_number(page, keys[i].event_no, NUMBER_BYTES);
    }
}

size_t key_page_read(struct str page, struct packed_key *ret)
{
    size_t count = page.n / ENTRY_BYTES;
    if (count == 0 || count > KEY_PAGE_MOST || page.n % ENTRY_BYTES != 0)
        return 0;
    const char *rest = page.p + count * KEY_BYTES;
    for (size_t i = 0; i < count; i++, rest += CONTENT_BYTES + NUMBER_BYTES) {
        const char *key = page.p + i * KEY_BYTES;
        ret[i] = (struct packed_key){
            .key = {read_number(key, 8), read_number(key + 8, 8)},
            .content = read_number(rest, CONTENT_BYTES),
            .event_no = read_number(rest + CONTENT_BYTES, NUMBER_BYTES),
        };
        if (i > 0 && packed_key_compare(&ret[i - 1], &ret[i]) >= 0)
            return 0;
    }
    return count;
}
