/* What every exporter says of its process, by the names Prometheus' client libraries have agreed
 * on, and which build this is. */
#pragma once

#include "base/buf.h"

/* What the system does not tell is left out. Reads /proc, which waits for no disk. */
void process_metrics_print(struct buf *to, const char *version, int64_t now_ms);
