/* The sentence about a failed exchange. In a file of its own because delivery uses it with any
 * sender. */
#include "send/send.h"

void exchange_set_detail(struct exchange *x, struct str sentence)
{
    size_t n = sentence.n < sizeof x->detail ? sentence.n : sizeof x->detail - 1;
    /* no bytes that could confuse a log or a terminal */
    for (size_t i = 0; i < n; i++)
        x->detail[i] = sentence.p[i] >= 0x20 && sentence.p[i] < 0x7f ? sentence.p[i] : '?';
    if (n < sentence.n)
        memcpy(x->detail + n - 3, "...", 3);
    x->detail[n] = '\0';
}
