/* Prints metrics in Prometheus' text format. */
#include "api/metric.h"

#include <stdlib.h>

static void print_head(struct buf *to, const struct metric *m)
{
    buf_printf(to, "# HELP %s %s\n# TYPE %s %s\n%s ", m->name, m->help, m->name, m->type, m->name);
}

void metric_print(struct buf *to, const struct metric *m)
{
    print_head(to, m);
    buf_printf(to, "%lld\n", (long long)m->value);
}

void metric_print_thousandths(struct buf *to, int64_t value)
{
    buf_printf(to, "%s%lld.%03lld", value < 0 ? "-" : "", llabs(value) / 1000, llabs(value) % 1000);
}

void metric_print_milli(struct buf *to, const struct metric *m)
{
    print_head(to, m);
    metric_print_thousandths(to, m->value);
    buf_add_char(to, '\n');
}
