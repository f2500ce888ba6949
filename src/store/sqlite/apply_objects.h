/* A step of apply_memtable: objects. */
#pragma once

struct apply;

void apply_objects(struct apply *a);
