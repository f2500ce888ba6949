/* A step of apply_memtable: segments, keys, bodies, panelists. */
#pragma once

struct apply;

void apply_keys(struct apply *a);
