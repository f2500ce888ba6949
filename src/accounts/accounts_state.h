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

/* A new secret for operations messages, in the arena. */
struct str accounts_new_secret(struct accounts *accounts, struct arena *arena);

/* Begins the change, of which there is only one at a time, and prints its document. The entry's
 * reference becomes the change's. */
void accounts_ready(struct accounts *accounts, struct change *change, enum account_kind kind,
                    void *entry, struct str id);

/* The same for a new app copied from *from, which stays the caller's. */
enum change_result accounts_app_ready(struct accounts *accounts, const struct app *from,
                                      struct problems *faults, struct change *ret_change);

/* Puts the entry into the directory, which takes the reference. */
void accounts_put(struct directory *d, enum account_kind kind, void *entry);

/* The result of a failed validation: a taken id is a conflict only if nothing else is wrong. */
enum change_result accounts_refusal(const struct problems *faults);

/* True if the account may have one more of these. False: a fault says how many it may have. */
MUST_CHECK bool accounts_have_room(struct accounts *accounts, enum account_kind kind,
                                   uint32_t account_no, struct problems *faults);

/* Judges a patch of an entry of that version. CHANGE_INVALID: there are faults; CHANGE_STALE:
 * If-Match names another version; CHANGE_READY: the patch can be made. */
enum change_result accounts_judge_patch(const struct problems *faults, struct str if_match,
                                        uint64_t version);
