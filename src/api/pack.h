/* Compresses an answer in slices. Between two slices the loop runs other tasks. */
#pragma once

#include "base/executor.h"
#include "http/encoder.h"

struct pack {
    struct task task;
    struct executor *executor; /* of the loop whose thread calls pack_begin */
    struct encoder *encoder;
    enum encoder_flush flush; /* after the last slice */
    struct buf in;
    size_t at;
    struct buf out;
    void (*done)(struct pack *p); /* called once; may take `out`, and free p */
};

/* Short texts are compressed before it returns. Longer ones are copied. */
void pack_begin(struct pack *p, struct str bytes);
