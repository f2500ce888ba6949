/*
 * The accounts the store tests play with: two partners, three apps, four clients, and items with
 * sensible members that a test then changes.
 */
#pragma once

#include "domain/event.h"
#include "subject.h"

#define ACCOUNT_A 1u
#define ACCOUNT_B 2u
#define APP_A1 11u /* everything configured, cap of 2 */
#define APP_A2 12u /* no URLs */
#define APP_B1 21u

extern const struct app_terms terms_a1, terms_a2, terms_b1;
const struct app_terms *terms_of(uint32_t app_no);

/* An item of app A1 at BASE_MS, with what its type requires; `id` must stay valid. */
struct candidate item(enum event_type type, const char *id);
struct candidate item_of(uint32_t app_no, enum event_type type, const char *id);
struct candidate reversal(const char *id, const char *original);

/* One attempt that ended like that. */
struct outcome outcome_of(uint32_t account_no, uint64_t event_no, enum lane_kind lane,
                          uint32_t app_no, int32_t number, enum callback_state state,
                          int64_t due_ms);
