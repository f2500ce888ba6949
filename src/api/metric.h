/* Prints one metric without labels in Prometheus' text format: help, type and sample. */
#pragma once

#include "base/buf.h"

struct metric {
    const char *name, *type, *help;
    int64_t value;
};

void metric_print(struct buf *to, const struct metric *m);
/* Of a value in thousandths: Prometheus has seconds and ratios, not milliseconds. */
void metric_print_milli(struct buf *to, const struct metric *m);
/* A sample or a bound alone, as metric_print_milli has it. */
void metric_print_thousandths(struct buf *to, int64_t value);
