/* Reads that visit whole days, on threads of their own, so that no other read waits for one. */
#pragma once

#include "store/sqlite/sqlite_store.h"

void scans_configure(struct reader *scanner);
enum store_status scan(struct reader *scanner, const struct request *r);
void scan_drop_results(const struct request *r);
