/* Metrics of the process, under the names that Prometheus' client libraries use, and the version
 * of the build. */
#pragma once

#include "base/buf.h"

/* Leaves out what the system does not report. Reads /proc, which does not wait for a disk. */
void process_metrics_print(struct buf *to, const char *version, int64_t now_ms);
