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

static void print_fraction(struct buf *to, int64_t value, int digits)
{
    long long unit = 1;
    for (int i = 0; i < digits; i++)
        unit *= 10;
    buf_printf(to, "%s%lld.%0*lld", value < 0 ? "-" : "", llabs(value) / unit, digits,
               llabs(value) % unit);
}

void metric_print_milli(struct buf *to, const struct metric *m)
{
    begin_sample(to, m);
    print_fraction(to, m->value, 3);
    buf_add_char(to, '\n');
}

void metric_print_histogram(struct buf *to, const struct histogram *h)
{
    long long count = 0;
    metric_head(to, h->name, "histogram", h->help);
    for (size_t i = 0; i < h->bound_count; i++) {
        count += h->counts[i];
        buf_printf(to, "%s_bucket{le=\"", h->name);
        print_fraction(to, h->bounds[i], h->digits);
        buf_printf(to, "\"} %lld\n", count);
    }
    if (h->has_rest)
        count += h->counts[h->bound_count];
    buf_printf(to, "%s_bucket{le=\"+Inf\"} %lld\n%s_sum ", h->name, count, h->name);
    print_fraction(to, h->total, h->digits);
    buf_printf(to, "\n%s_count %lld\n", h->name, count);
}
