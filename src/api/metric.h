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
/* The value is in thousandths: Prometheus uses seconds and ratios, not milliseconds. */
void metric_print_milli(struct buf *to, const struct metric *m);

/* Bounds and total are in units of 10^-digits seconds: 3 means milliseconds, 6 microseconds. */
struct histogram {
    const char *name, *help;
    int digits;
    const int64_t *bounds;
    size_t bound_count;
    const int64_t *counts; /* one for each bound */
    bool has_rest;         /* has one more count, for values above the last bound */
    int64_t total;
};
void metric_print_histogram(struct buf *to, const struct histogram *h);
