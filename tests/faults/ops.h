/* Random changes of a store, kept so that they can be made again on another one. */
#pragma once

#include "../conformance/random_items.h"
#include "../conformance/subject.h"

enum op_kind { OP_SUBMIT, OP_RECORD, OP_RESEND, OP_ERASE, OP_OBJECT };

#define OP_ITEMS_MAX 24

/* Owns its texts. */
struct op {
    enum op_kind kind;
    int64_t now_ms;
    size_t count;
    struct candidate items[OP_ITEMS_MAX];
    struct outcome outcomes[OP_ITEMS_MAX];
    uint32_t account_no;
    char id[40];  /* resend: EventId, erase: PanelistId, object: its id */
    bool deletes; /* object */
    struct arena arena;
};

/* A request under way. */
struct started_op;

/* What outcomes are about is looked up in `model`, which must hold what is recorded by now. */
struct op *op_random(struct traffic *t, struct subject *model, int64_t now_ms);
void op_free(struct op *op);

struct started_op *op_start(struct subject *s, const struct op *op);
/* Waits. ret_verdicts (OP_ITEMS_MAX) is filled in for OP_SUBMIT with STORE_OK. */
enum store_status op_finish(struct subject *s, struct started_op *started,
                            struct verdict *ret_verdicts);
