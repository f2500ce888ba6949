/* Prints metrics in Prometheus' text format. */
#pragma once

#include "base/buf.h"

struct metric {
    const char *name, *type, *help;
    int64_t value;
};

/* Help and type; the samples follow. */
void metric_head(struct buf *to, const char *name, const char *type, const char *help);
/* Head and sample of one without labels. */
void metric_print(struct buf *to, const struct metric *m);
void metrics_print(struct buf *to, const struct metric *metrics, size_t count);
/* Of a value in thousandths: Prometheus has seconds and ratios, not milliseconds. */
void metric_print_milli(struct buf *to, const struct metric *m);
/* A sample or a bound alone, as metric_print_milli has it. */
void metric_print_thousandths(struct buf *to, int64_t value);
