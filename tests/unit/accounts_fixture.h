/*
 * A directory with its write side, and JSON bodies from C strings, for the tests of accounts and
 * of what builds on them. One fixture per test; fixture_close() gives everything back.
 */
#pragma once

#include "check.h"

#include "accounts/changes.h"
#include "accounts/render.h"
#include "base/env.h"

struct fixture {
    struct env env;
    int64_t now_ms;
    struct rng rng;
    struct directory *directory;
    struct accounts *accounts;
    struct arena arena;
    struct problems faults;
    struct change change;
    struct cidr allowed;
};

void fixture_open(struct fixture *f);

void fixture_close(struct fixture *f);

/* A body, with the list of faults emptied for the call that follows. */
const struct json *fixture_body(struct fixture *f, const char *text);

/* "Field code, Field code": what was found wrong. */
struct str fixture_faults(struct fixture *f);

/* Applies a change as if the store had kept it. */
void fixture_apply(struct fixture *f);

bool fixture_partner(struct fixture *f, const char *body);

bool fixture_app(struct fixture *f, const char *partner, const char *body);

bool fixture_client(struct fixture *f, const char *app, const char *body);

bool fixture_patch_app(struct fixture *f, const char *app, const char *body);

/* Of the app a1; body NULL: none is sent. */
bool fixture_rotate(struct fixture *f, const char *body);

/* The app as the API shows it. */
struct str fixture_app_json(struct fixture *f, const char *id, bool with_secret);
