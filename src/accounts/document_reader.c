/* Reads members of documents; see document_reader.h. */
#include "accounts/document_reader.h"

void document_read_begin(struct document_reader *r, struct arena *arena,
                         const struct json *document, const struct vault *vault)
{
    *r = (struct document_reader){
        .fields = {.body = document, .faults = &r->faults},
        .faults = {.arena = arena},
        .arena = arena,
        .vault = vault,
    };
}

bool document_read_end(const struct document_reader *r, const char *kind, struct str name,
                       struct str *ret_why)
{
    if (!r->faults.count)
        return true;
    *ret_why = arena_print(r->arena, "the document of %s %.*s: %.*s %s", kind, STR_ARG(name),
                           STR_ARG(r->faults.first->field),
                           r->is_sealed
                               ? "cannot be opened: the master key is another one, or it is damaged"
                               : "is missing or wrong");
    return false;
}

void document_wrong(struct document_reader *r, const char *name)
{
    problem_add(&r->faults, str_of(name), "invalid", "is wrong");
}

void document_cannot_open(struct document_reader *r, const char *name)
{
    r->is_sealed |= !r->faults.count;
    document_wrong(r, name);
}

struct str document_text(struct document_reader *r, const char *name)
{
    struct str text = STR_NONE;
    fields_required(&r->fields, name);
    fields_text(&r->fields, name, 0, SIZE_MAX, &text);
    return text;
}

struct str document_id(struct document_reader *r, const char *name)
{
    struct str id = STR_NONE;
    fields_required(&r->fields, name);
    fields_id(&r->fields, name, &id);
    return id;
}

int64_t document_number(struct document_reader *r, const char *name, int64_t least, int64_t most)
{
    int64_t number = least;
    fields_required(&r->fields, name);
    fields_int(&r->fields, name, least, most, &number);
    return number;
}

bool document_flag(struct document_reader *r, const char *name)
{
    bool flag = false;
    fields_required(&r->fields, name);
    fields_bool(&r->fields, name, &flag);
    return flag;
}
