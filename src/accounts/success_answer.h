/* Judges the body of a 2xx answer by an app's SuccessAnswer. Many receivers answer 200 even when
 * they refuse a callback, and only the body says so. Pure. */
#pragma once

#include "base/buf.h"
#include "base/check.h"

enum success_rule {
    SUCCESS_ANY,      /* every 2xx */
    SUCCESS_BODY,     /* the body equals the text, without white space around both */
    SUCCESS_CONTAINS, /* the body contains the text */
    SUCCESS_FIELD,    /* a field of the JSON body has the text as its value */
};

struct success_answer {
    enum success_rule rule;
    struct str text;  /* absent: any */
    struct str field; /* SUCCESS_FIELD: the name of a member of the outermost object; with a slash
                         at the beginning, a JSON Pointer (RFC 6901) */
};

/* The setting's member that has the text: "Body", "Contains" or "Value". */
const char *success_text_member(enum success_rule rule);
/* True if a setting can match at all. False: *ret_why is a static clause. */
MUST_CHECK bool success_text_valid(struct str text, const char **ret_why);
MUST_CHECK bool success_field_valid(struct str field, const char **ret_why);

/* Judges the part of a body that was kept. is_cut: there was more, or the rest never came. False: a
 * clause says why; it follows "Answered 200, but ", and may quote the body. */
MUST_CHECK bool success_answer_judge(const struct success_answer *s, struct str body, bool is_cut,
                                     struct buf *ret_why);
