/* A page that the page reader and the writer pass to each other. */
#pragma once

#include "store/sqlite/sqlite_store.h"

struct page_work;
void *pages_main(void *arg);
struct page_work *page_work_new(struct due_page *page);
void page_work_free(struct page_work *work); /* with its remaining callbacks */
/* The writer's part: fills in the answer, or tells how to read again. */
enum page_verdict { PAGE_DONE, PAGE_FAILED, PAGE_READ_AGAIN, PAGE_READ_BEHIND_BARRIER };
enum page_verdict page_filter(struct sqlite_store *s, struct page_work *work);
