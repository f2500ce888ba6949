/* Checksums of the database's pages. SQLite keeps none: a byte that the disk has changed would be
 * read as if it had been written so. Each page ends with PAGE_SUM_BYTES that SQLite leaves alone
 * (its reserved space): the page's number and the CRC-32C of all before them, little-endian. The
 * VFS writes them with the page (paced.c), the scrub reads them (scrub.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PAGE_BYTES 4096
#define PAGE_SUM_BYTES 8
/* Of SQLite's file format: how much of each page is reserved. */
#define PAGE_RESERVED_AT 20

void page_seal(char *page, uint32_t number);
/* Sealed as this page; or only zeros, as a page that was never written (a free one, or the one that
 * SQLite keeps for its locks). */
bool page_is_whole(const char *page, uint32_t number);
