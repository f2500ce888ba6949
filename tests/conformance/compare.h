/*
 * The same question to two stores; differences are printed and counted as failed checks. Each
 * returns whether the answers were the same.
 */
#pragma once

#include "subject.h"

bool compare_row(const struct callback_row *a, const struct callback_row *b);
bool compare_get(struct subject *a, struct subject *b, uint32_t account_no, const char *event_id);
bool compare_list(struct subject *a, struct subject *b, const struct callback_list *query);
bool compare_report(struct subject *a, struct subject *b, const struct report_query *query);
/* Of the last hours up to now_ms. */
bool compare_delivery_stats(struct subject *a, struct subject *b, uint32_t account_no,
                            uint32_t app_no, enum lane_kind lane, int64_t now_ms);
bool compare_intraday(struct subject *a, struct subject *b, uint32_t account_no, int32_t day);
bool compare_statement(struct subject *a, struct subject *b, uint32_t account_no, int32_t day);
bool compare_count(struct subject *a, struct subject *b, const struct callback_count *query);
/* Both must hold, and have looked at the same. */
bool compare_books(struct subject *a, struct subject *b, const struct books_check *check);
bool compare_waiting(struct subject *a, struct subject *b, uint32_t app_no);
/* The first store's page is handed out; the caller drops it. */
bool compare_page(struct subject *a, struct subject *b, const struct due_page *query,
                  struct due_page *ret_page);
/* What both sinks were given since the last call. */
bool compare_owed(struct subject *a, struct subject *b);
bool compare_numbers(struct subject *a, struct subject *b);
