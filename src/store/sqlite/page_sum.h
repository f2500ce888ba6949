/* Checksums of the database's pages. SQLite has none: it would not notice a byte that the disk has
 * changed. Each page ends with PAGE_SUM_BYTES that SQLite leaves alone (its reserved space): the
 * page's number and the CRC-32C of the bytes before it, little-endian. The VFS writes them with the
 * page (sync_slicing_vfs.c), the scrub checks them (scrub.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PAGE_BYTES 4096
#define PAGE_SUM_BYTES 8
/* SQLite's file format: how many bytes of each page are reserved. */
#define PAGE_RESERVED_AT 20

void page_seal(char *page, uint32_t number);
/* True if the page has a valid checksum for this number, or only zeros, as a page that was never
 * written (a free one, or SQLite's lock page). */
bool page_is_whole(const char *page, uint32_t number);
