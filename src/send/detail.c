/* What is said of an exchange that failed. A file of its own: delivery says it too, whatever sends.
 */
#include "send/send.h"

void exchange_set_detail(struct exchange *x, struct str sentence)
{
    size_t n = sentence.n < sizeof x->detail ? sentence.n : sizeof x->detail - 1;
    /* Nothing that could confuse a log or a terminal. */
    for (size_t i = 0; i < n; i++)
        x->detail[i] = sentence.p[i] >= 0x20 && sentence.p[i] < 0x7f ? sentence.p[i] : '?';
    if (n < sentence.n)
        memcpy(x->detail + n - 3, "...", 3);
    x->detail[n] = '\0';
}
