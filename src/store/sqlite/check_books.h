/* Checks the books against the events. */
#pragma once

#include "store/sqlite/sqlite_store.h"

enum store_status read_books(struct reader *scanner, struct books_check *check);
/* Asked again and again while books are read. False: end. */
MUST_CHECK bool books_go_on(struct books_scan *books);
