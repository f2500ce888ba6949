/* Metrics of the process, under the names that Prometheus' client libraries use, and the version
 * of the build. */
#pragma once

#include "base/buf.h"

/* What the system does not tell is left out. Reads /proc, which waits for no disk. */
void process_metrics_print(struct buf *to, const char *version, int64_t now_ms);
