/* Prints metrics in Prometheus' text format. */
#include "api/metric.h"

#include <stdlib.h>

void metric_head(struct buf *to, const char *name, const char *type, const char *help)
{
    buf_printf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void begin_sample(struct buf *to, const struct metric *m)
{
    metric_head(to, m->name, m->type, m->help);
    buf_printf(to, "%s ", m->name);
}

void metric_print(struct buf *to, const struct metric *m)
{
    begin_sample(to, m);
    buf_printf(to, "%lld\n", (long long)m->value);
}

void metrics_print(struct buf *to, const struct metric *metrics, size_t count)
{
    for (size_t i = 0; i < count; i++)
        metric_print(to, &metrics[i]);
}

void metric_print_thousandths(struct buf *to, int64_t value)
{
    buf_printf(to, "%s%lld.%03lld", value < 0 ? "-" : "", llabs(value) / 1000, llabs(value) % 1000);
}

void metric_print_milli(struct buf *to, const struct metric *m)
{
    begin_sample(to, m);
    metric_print_thousandths(to, m->value);
    buf_add_char(to, '\n');
}
