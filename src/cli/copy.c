/* postbackd copy: copies a store to another place, and prints progress and result. */
#include "accounts/document.h"
#include "cli/command.h"
#include "cli/store_name.h"
#include "daemon/daemon.h"
#include "daemon/master_key.h"
#include "store/store_copy.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define BAR_MS 200    /* on a terminal */
#define LINES_MS 5000 /* elsewhere */
#define BAR_WIDTH 30

struct command_copy {
    bool has_key;
    struct vault vault;
    bool terminal, drawn, comparing;
    int64_t begun_ms, begun_done, told_ms; /* of copying, then of comparing */
};

/* --- how far it is -----------------------------------------------------------------------------
 */

static void print_time(struct buf *to, int64_t seconds)
{
    if (seconds >= 3600)
        buf_printf(to, "%" PRId64 " h %" PRId64 " min", seconds / 3600, seconds / 60 % 60);
    else if (seconds >= 60)
        buf_printf(to, "%" PRId64 " min %" PRId64 " s", seconds / 60, seconds % 60);
    else
        buf_printf(to, "%" PRId64 " s", seconds);
}

static void print_progress(const struct command_copy *c, const struct copy_progress *at,
                           int64_t now_ms, struct buf *to)
{
    int64_t of = at->of > 0 ? at->of : 1, done = at->done < of ? at->done : of;
    int64_t took_ms = now_ms - c->begun_ms, rows = at->done - c->begun_done;
    if (c->terminal) {
        buf_add_char(to, '[');
        for (int64_t i = 0; i < BAR_WIDTH; i++)
            buf_add_char(to, i < BAR_WIDTH * done / of ? '#' : ' ');
        buf_add_c(to, "] ");
    }
    buf_printf(to, "%s %3" PRId64 " %%, %" PRId64 " of %" PRId64 " events",
               at->comparing ? "comparing" : "copying", 100 * done / of, at->done, at->of);
    if (took_ms < 1000 || rows <= 0)
        return;
    buf_printf(to, ", %" PRId64 "/s", rows * 1000 / took_ms);
    if (done < of) {
        buf_add_c(to, ", ");
        print_time(to, (of - done) * took_ms / rows / 1000 + 1);
        buf_add_c(to, " left");
    }
}

static void end_bar(struct command_copy *c)
{
    if (c->drawn)
        fputc('\n', stderr);
    c->drawn = false;
}

static bool goes_on(void *context, const struct copy_progress *at)
{
    struct command_copy *c = context;
    int64_t now_ms = env_mono_ms(env_real());
    bool first = c->begun_ms == 0 || c->comparing != at->comparing;
    if (first) {
        end_bar(c);
        c->comparing = at->comparing;
        c->begun_ms = now_ms;
        c->begun_done = at->done;
    }
    if (first || now_ms - c->told_ms >= (c->terminal ? BAR_MS : LINES_MS)) {
        struct buf line = {0};
        print_progress(c, at, now_ms, &line);
        fprintf(stderr, c->terminal ? "\r%s\033[K" : "%s\n", buf_c(&line));
        c->drawn = c->terminal;
        c->told_ms = now_ms;
        buf_free(&line);
    }
    return !daemon_stop_asked();
}

/* --- the master key ----------------------------------------------------------------------------
 */

/* False: the secrets cannot be opened by the key that the copy's daemon will have. */
static bool judge(void *context, enum object_kind kind, struct str document, char **ret_why)
{
    struct command_copy *c = context;
    struct arena arena = {0};
    struct json *parsed;
    struct app *app = NULL;
    struct str why = STR_NONE;
    if (kind != OBJECT_APP || !c->has_key)
        return true;
    bool good = json_parse(&arena, document, &parsed, &why) &&
                document_read_app(&arena, parsed, &c->vault, &app, &why);
    if (good)
        app_unref(app);
    else
        *ret_why = xprintf("%.*s", STR_ARG(why));
    arena_free(&arena);
    return good;
}

/* The key from the environment, or from the source's key file. */
static bool load_key(struct command_copy *c, struct settings *s, const struct store_name *from,
                     char **ret_why)
{
    struct str given = settings_text(s, OPTION_MASTER_KEY);
    struct buf file = {0};
    if (!given.p && from->directory) {
        buf_printf(&file, "%s/master.key", from->directory);
        c->has_key = access(buf_c(&file), F_OK) == 0;
        buf_free(&file);
    }
    c->has_key |= given.p != NULL;
    return !c->has_key ||
           master_key_load(given, STR_NONE, from->directory, env_real(), &c->vault, ret_why);
}

/* --- what came of it ----------------------------------------------------------------------------
 */

static void print_digest(struct settings *s, enum option_id id,
                         const unsigned char digest[COPY_DIGEST_BYTES])
{
    char hex[2 * COPY_DIGEST_BYTES + 1];
    struct buf name = {0};
    url_print_text_masked(&name, settings_text(s, id));
    sodium_bin2hex(hex, sizeof hex, digest, COPY_DIGEST_BYTES);
    printf("%s  %s\n", hex, buf_c(&name));
    buf_free(&name);
}

static void print_result(struct settings *s, const struct copy_result *r)
{
    printf("%" PRId64 " objects, %" PRId64 " events, %" PRId64 " bodies, %" PRId64
           " attempts, %" PRId64 " report rows, %" PRId64 " ledger rows\n",
           r->counts.objects, r->counts.events, r->counts.bodies, r->counts.attempts,
           r->counts.reports, r->counts.books);
    print_digest(s, OPTION_STORE, r->digests[0]);
    print_digest(s, OPTION_TO, r->digests[1]);
    puts(r->difference ? "different" : "equal");
    fflush(stdout);
}

static int conclude(struct settings *s, const struct copy_options *o, struct command_copy *c,
                    enum copy_end end, const struct copy_result *r, const char *why)
{
    end_bar(c);
    switch (end) {
    case COPY_EQUAL:
        print_result(s, r);
        if (!o->only_compare && !settings_text(s, OPTION_MASTER_KEY).p && c->has_key)
            fprintf(stderr,
                    "The secrets are sealed with the key in %s/master.key: start on the copy with "
                    "its text as POSTBACKD_MASTER_KEY.\n",
                    o->from.directory);
        return 0;
    case COPY_DIFFERENT:
        print_result(s, r);
        return command_fail(1, "the stores differ, first in: %s", r->difference);
    case COPY_STOPPED:
        return command_fail(1, o->only_compare ? "stopped."
                                               : "stopped: the same command goes on from there.");
    case COPY_FAILED: return command_fail(1, "%s", why);
    }
    UNREACHABLE();
}

/* A directory may be written in many ways. */
static bool is_same_store(const struct store_name *a, const struct store_name *b)
{
    struct stat x, y;
    if (a->uri && b->uri)
        return strcmp(a->uri, b->uri) == 0;
    return a->directory && b->directory && stat(a->directory, &x) == 0 &&
           stat(b->directory, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int command_copy(struct settings *s)
{
    struct store_name from, to;
    struct str wrong;
    char *why = NULL;
    if (!store_names_read(s, &from, &to, &wrong))
        return command_fail(EXIT_USAGE, "%.*s", STR_ARG(wrong));
    if (is_same_store(&from, &to))
        return command_fail(EXIT_USAGE,
                            "--store and --to name the same store: choose another --to.");
    struct command_copy c = {.terminal = isatty(STDERR_FILENO)};
    struct copy_options options = {
        .from = {from.directory, from.uri},
        .to = {to.directory, to.uri},
        .env = env_real(),
        .only_compare = str_is(settings_text(s, OPTION_CHECK), "true"),
        .judge = judge,
        .goes_on = goes_on,
        .context = &c,
    };
    struct copy_result result = {0};
    umask(077); /* the copy holds people's ids: nobody else's to read */
    daemon_block_signals();
    enum copy_end end = COPY_FAILED;
    if (load_key(&c, s, &from, &why))
        end = store_copy(&options, &result, &why);
    int status = conclude(s, &options, &c, end, &result, why);
    free(result.difference);
    free(why);
    explicit_bzero(&c.vault, sizeof c.vault);
    return status;
}
