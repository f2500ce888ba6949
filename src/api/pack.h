/* Compresses an answer in slices. Between two slices the loop runs other tasks. */
#pragma once

#include "base/executor.h"
#include "http/encoder.h"

struct pack {
    struct task task;
    struct executor *executor; /* of the loop whose thread calls pack_begin */
    struct encoder *encoder;
    enum encoder_flush flush; /* behind the last slice */
    struct buf in;
    size_t at;
    struct buf out;
    void (*done)(struct pack *p); /* once; `out` is its own then, and p may be freed */
};

/* What is short is done when this returns. The bytes are copied where they must last. */
void pack_begin(struct pack *p, struct str bytes);
