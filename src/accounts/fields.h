/* Reads the members of a request's body that creates or patches an entry. Each function checks one
 * member. If it is wrong, a problem is added. If it is wrong or absent, the output keeps its
 * value: so set outputs to the default, or to the current value, before the call.
 *
 * A URL that names a non-public address is refused here, when it is set. A host name can resolve
 * to such an address later, so send/opening.c checks each address again before it connects.
 * Internal. */
#pragma once

#include "accounts/names.h"
#include "accounts/success_answer.h"
#include "base/problem.h"
#include "domain/callback_end.h"
#include "domain/destination_rules.h"
#include "domain/request_format.h"
#include "json/reader.h"

#define NAME_BYTES_MAX 256

struct fields {
    const struct json *body;
    struct problems *faults;
    bool patch;
    bool by_partner;                       /* refuses members that only operators may give */
    const struct destination_rules *rules; /* addresses that a URL may contain */
};

struct field_rule {
    const char *name;
    bool create, patch; /* where it may be given */
};

/* One object without unknown, repeated or read-only members. False: the rest is not worth reading
 * (the body is no object). */
MUST_CHECK bool fields_check(const struct fields *f, const struct field_rule *rules, size_t count);

bool fields_given(const struct fields *f, const char *name);
/* Refuses the member if a partner asks. */
void fields_operators_only(const struct fields *f, const char *name);
void fields_required(const struct fields *f, const char *name);
void fields_bool(const struct fields *f, const char *name, bool *ret);
void fields_int(const struct fields *f, const char *name, int64_t least, int64_t most,
                int64_t *ret);
/* null is 0. */
void fields_int_or_null(const struct fields *f, const char *name, int64_t least, int64_t most,
                        int64_t *ret);
/* A list of 4xx statuses in any order, with or without repetitions. */
void fields_final_statuses(const struct fields *f, const char *name, struct final_statuses *ret);
/* A list of RewardTypes: *ret_unwanted gets the bits of all other types. null: no bits. */
void fields_reward_types(const struct fields *f, const char *name, uint32_t *ret_unwanted);
/* null: every 2xx. The former setting is replaced as a whole. */
void fields_success_answer(const struct fields *f, const char *name, struct success_answer *ret);
/* ret_text: the number as given; may be NULL. */
void fields_money(const struct fields *f, const char *name, int64_t least_micros,
                  int64_t most_micros, int64_t *ret_micros, struct str *ret_text);
void fields_text(const struct fields *f, const char *name, size_t least_bytes, size_t most_bytes,
                 struct str *ret);
void fields_time(const struct fields *f, const char *name, int64_t *ret_ms);
void fields_operations_format(const struct fields *f, const char *name,
                              enum operations_format *ret);
void fields_request_format(const struct fields *f, const char *name, enum request_format *ret);
void fields_id(const struct fields *f, const char *name, struct str *ret);
/* null clears it. */
void fields_email(const struct fields *f, const char *name, struct str *ret);
/* A secret that a partner already uses with another network. */
void fields_callback_secret(const struct fields *f, const char *name, struct str *ret);
/* null clears it. A URL with masked user info, as the API shows it, stands for the one in *ret. */
void fields_url(const struct fields *f, const char *name, struct str *ret);
/* The same for a URL that may have macros (domain/url_macros.h). */
void fields_callback_url(const struct fields *f, const char *name, struct str *ret);
