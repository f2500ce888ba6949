/* The state behind changes.h, and functions that its operations share. Internal to accounts/. */
#pragma once

#include "accounts/changes.h"
#include "accounts/fields.h"

#define ACCOUNTS_MAGIC 0xacc05747u

struct accounts {
    uint32_t magic;
    struct accounts_options options;
    bool busy; /* a change has been made and not freed */
};

struct fields accounts_fields(struct accounts *accounts, const struct json *body, bool patch,
                              struct problems *faults);

/* The id given in the member `name`, or a new one with the prefix; a conflict is added to the
 * faults. False: a fault was added. */
bool accounts_new_id(struct accounts *accounts, const struct fields *f, enum account_kind kind,
                     const char *name, const char *prefix, struct str *ret_id);

/* A new secret of messages, in the arena. */
struct str accounts_new_secret(struct accounts *accounts, struct arena *arena);

/* Begins the one change there may be and prints its document. The entry's reference becomes the
 * change's. */
void accounts_ready(struct accounts *accounts, struct change *change, enum account_kind kind,
                    void *entry, struct str id);

/* The same for an app made of *from, which stays the caller's. */
enum change_result accounts_app_ready(struct accounts *accounts, const struct app *from,
                                      struct problems *faults, struct change *ret_change);

/* Into the directory, which takes the reference. */
void accounts_put(struct directory *d, enum account_kind kind, void *entry);

/* What a failed validation comes to: a taken id is a conflict only when nothing else is wrong. */
enum change_result accounts_refusal(const struct problems *faults);

/* Whether the account may have one more of these; if not, a fault says how many it may have. */
MUST_CHECK bool accounts_have_room(struct accounts *accounts, enum account_kind kind,
                                   uint32_t account_no, struct problems *faults);

/* The same for a patch of an entry of that version: CHANGE_INVALID, CHANGE_STALE, or CHANGE_READY:
 * it can be made. */
enum change_result accounts_judge_patch(const struct problems *faults, struct str if_match,
                                        uint64_t version);
