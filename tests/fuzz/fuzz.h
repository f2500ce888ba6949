/*
 * The one function of a fuzz target. It must return 0 for any bytes; a crash, a failed ASSERT or
 * a sanitizer report is the finding. It owns nothing after it returns.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes);
