/* The only C++ of the project: simdjson's first stage behind a C face. No exception leaves it:
 * simdjson reports by codes, allocation of ours does not fail or is the non-throwing kind.
 *
 * The text is copied into a buffer of our own that has SIMDJSON_PADDING bytes behind it: whichever
 * instruction set simdjson picks may read that far beyond the end. Buffers are kept for the next
 * text unless they grew large, since a parser lives as long as its thread. */
#include "json/structure.h"

#include <cstdlib>
#include <new>
#include <simdjson.h>

extern "C" {
#include "base/alloc.h"
}

struct structure {
    std::unique_ptr<simdjson::internal::dom_parser_implementation> stage;
    uint8_t *padded = nullptr;
    size_t capacity = 0;
};

static const size_t capacity_first = 4096;
static const size_t capacity_kept = 1 << 20;
static const size_t text_bytes_max = 1u << 30;

static void structure_drop(struct structure *s)
{
    s->stage.reset();
    free(s->padded);
    s->padded = nullptr;
    s->capacity = 0;
}

static bool structure_make_room(struct structure *s, size_t n)
{
    if (n <= s->capacity && (s->capacity <= capacity_kept || n > capacity_kept))
        return true;
    size_t capacity = capacity_first;
    while (capacity < n)
        capacity *= 2;
    structure_drop(s);
    s->padded = static_cast<uint8_t *>(xmalloc(capacity + simdjson::SIMDJSON_PADDING));
    /* The depth is reader.c's matter; stage 1 does not look at it. */
    auto implementation = simdjson::get_active_implementation().operator->();
    if (implementation->create_dom_parser_implementation(capacity, 1, s->stage)) {
        structure_drop(s);
        return false;
    }
    s->capacity = capacity;
    return true;
}

static enum structure_fault structure_fault_of(simdjson::error_code code)
{
    switch (code) {
    case simdjson::SUCCESS: return STRUCTURE_OK;
    case simdjson::EMPTY: return STRUCTURE_EMPTY;
    case simdjson::UTF8_ERROR: return STRUCTURE_UTF8;
    case simdjson::UNCLOSED_STRING: return STRUCTURE_UNCLOSED_STRING;
    case simdjson::UNESCAPED_CHARS: return STRUCTURE_CONTROL_CHARACTER;
    default: return STRUCTURE_FAILED;
    }
}

struct structure *structure_new(void)
{
    return new (std::nothrow) structure;
}

void structure_free(struct structure *s)
{
    if (!s)
        return;
    structure_drop(s);
    delete s;
}

enum structure_fault structure_find(struct structure *s, struct str text,
                                    const uint32_t **ret_places, uint32_t *ret_count)
{
    if (text.n == 0)
        return STRUCTURE_EMPTY;
    if (text.n >= text_bytes_max || !structure_make_room(s, text.n))
        return STRUCTURE_FAILED;
    memcpy(s->padded, text.p, text.n);
    memset(s->padded + text.n, ' ', simdjson::SIMDJSON_PADDING);
    auto code = s->stage->stage1(s->padded, text.n, simdjson::stage1_mode::regular);
    if (code)
        return structure_fault_of(code);
    *ret_places = s->stage->structural_indexes.get();
    *ret_count = s->stage->n_structural_indexes;
    return STRUCTURE_OK;
}
