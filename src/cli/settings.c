/* Reads the options of one run from file, environment and command line, by one table. */
#include "cli/option.h"

#include "cli/line_reader.h"

#include "base/file.h"
#include "base/log.h"

#include <stdlib.h>
#include <sys/stat.h>

#define CONFIG_BYTES_MAX (1 << 20)

static bool fail(struct settings *s, struct str *ret_why, const char *fmt, ...) PRINTF_LIKE(3, 4);

static bool fail(struct settings *s, struct str *ret_why, const char *fmt, ...)
{
    struct buf text = {0};
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&text, fmt, ap);
    va_end(ap);
    *ret_why = arena_take(&s->arena, &text);
    return false;
}

static int find_option(struct str name)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        if (str_is(name, option_table[i].name))
            return i;
    return -1;
}

/* A later source replaces an earlier one's value; within one source a list grows. */
static bool set(struct settings *s, int id, struct str value, enum setting_source source, int line,
                struct str *ret_why)
{
    const struct option *o = &option_table[id];
    if (!value.n)
        return fail(s, ret_why, "%s needs a value (%s).", o->name,
                    o->argument ? o->argument : "true or false");
    if (!str_is_utf8(value))
        return fail(s, ret_why, "%s is not valid UTF-8; give it in UTF-8.", o->name);
    if (!o->argument && !str_is(value, "true") && !str_is(value, "false"))
        return fail(s, ret_why, "%s is true or false.", o->name);
    if (s->of[id].source != source)
        s->of[id].count = 0;
    s->of[id].source = source;
    if (s->of[id].count && !(o->flags & OPTION_IS_LIST))
        return fail(s, ret_why, "%s is given twice; give it once.", o->name);
    if (s->of[id].count == SETTING_VALUES_MAX)
        return fail(s, ret_why, "%s is given more than %d times.", o->name, SETTING_VALUES_MAX);
    s->of[id].lines[s->of[id].count] = line;
    s->of[id].values[s->of[id].count++] = arena_str(&s->arena, value);
    return true;
}

/* --- the config file ------------------------------------------------------------------------ */

static bool parse_line(struct settings *s, struct str name, int number, struct str line,
                       struct str *ret_why)
{
    struct str value = line;
    struct str key = str_trim(str_cut(&value, '='));
    if (!value.p)
        return fail(s, ret_why, "%.*s:%d: expected `name = value`.", STR_ARG(name), number);
    if (key.n == 0)
        return fail(s, ret_why, "%.*s:%d: the name of an option is missing before `=`.",
                    STR_ARG(name), number);
    int id = find_option(key);
    if (id < 0 || id == OPTION_CONFIG || !(option_table[id].commands & COMMAND_SERVE))
        return fail(s, ret_why,
                    "%.*s:%d: there is no option %.*s; `postbackd serve --help` lists them.",
                    STR_ARG(name), number, STR_ARG(key));
    s->file_has_key |= (option_table[id].flags & OPTION_IS_SECRET) != 0;
    struct str why;
    if (!set(s, id, str_trim(value), FROM_FILE, number, &why))
        return fail(s, ret_why, "%.*s:%d: %.*s", STR_ARG(name), number, STR_ARG(why));
    return true;
}

bool settings_parse_file(struct settings *s, struct str name, struct str text, struct str *ret_why)
{
    if (memchr(text.p ? text.p : "", '\0', text.n) || !str_is_utf8(text))
        return fail(s, ret_why, "%.*s is not a text file in UTF-8.", STR_ARG(name));
    s->file = arena_str(&s->arena, name);
    struct str rest = text_without_mark(text);
    for (int number = 1; rest.p; number++) {
        struct str line = str_cut(&rest, '\n');
        if (line.n && line.p[line.n - 1] == '\r')
            line.n--;
        line = str_trim(line);
        if (line.n && line.p[0] != '#' && !parse_line(s, name, number, line, ret_why))
            return false;
    }
    return true;
}

static bool read_file(struct settings *s, const char *path, struct str *ret_why)
{
    struct buf text = {0};
    char *why = NULL;
    mode_t mode;
    bool good = file_read(path, CONFIG_BYTES_MAX, &text, &mode, &why) ||
                fail(s, ret_why, "config: %s.", why);
    free(why);
    if (!good)
        return false;
    if (mode & S_IROTH)
        s->public_file = arena_str(&s->arena, str_of(path));
    good = settings_parse_file(s, str_of(path), buf_str(&text), ret_why);
    explicit_bzero(text.p, text.capacity); /* it may have keys */
    buf_free(&text);
    return good;
}

/* --- the environment ------------------------------------------------------------------------ */

static int option_of_variable(struct str variable)
{
    int found = -1;
    struct buf name = {0};
    for (int i = 0; i < OPTION_COUNT && found < 0; i++) {
        buf_clear(&name);
        option_print_variable(&name, &option_table[i]);
        found = str_eq(buf_str(&name), variable) ? i : -1;
    }
    buf_free(&name);
    return found;
}

/* Moves on to the next variable that begins with POSTBACKD_. False: there is none. */
static bool next_variable(char ***environment, struct str *ret_name, struct str *ret_value)
{
    while (*environment && **environment) {
        *ret_value = str_of(*(*environment)++);
        *ret_name = str_cut(ret_value, '=');
        if (str_has_prefix(*ret_name, "POSTBACKD_") && ret_value->p)
            return true;
    }
    return false;
}

static bool read_variable(struct settings *s, struct str variable, struct str value,
                          struct str *ret_why)
{
    int id = option_of_variable(variable);
    if (id < 0) {
        /* POSTBACKD_BIN is for the tests; POSTBACKD_TEST_SIZES is read where a store is opened. */
        if (!str_is(variable, "POSTBACKD_BIN") && !str_is(variable, "POSTBACKD_TEST_SIZES") &&
            s->unknown_variable_count < SETTING_UNKNOWN_MAX)
            s->unknown_variables[s->unknown_variable_count++] = variable;
        return true;
    }
    if (!(option_table[id].commands & s->command))
        return true;
    bool repeats = option_table[id].flags & OPTION_IS_LIST;
    struct str rest = value, why;
    if (s->wiped && (option_table[id].flags & OPTION_IS_SECRET))
        return true;
    do {
        struct str one = repeats ? str_trim(str_cut(&rest, ',')) : rest;
        if (!set(s, id, one, FROM_ENVIRONMENT, 0, &why))
            return fail(s, ret_why, "%.*s: %.*s", STR_ARG(variable), STR_ARG(why));
    } while (repeats && rest.p);
    return true;
}

static bool read_environment(struct settings *s, char **environment, bool config_only,
                             struct str *ret_why)
{
    struct str name, value;
    while (next_variable(&environment, &name, &value))
        if (str_is(name, "POSTBACKD_CONFIG") == config_only &&
            !read_variable(s, name, value, ret_why))
            return false;
    return true;
}

void settings_wipe_environment(char **environment)
{
    struct str name, value;
    while (next_variable(&environment, &name, &value)) {
        int id = option_of_variable(name);
        if (id >= 0 && (option_table[id].flags & OPTION_IS_SECRET))
            explicit_bzero(str_bytes(value.p), value.n);
    }
}

/* --- the command line ----------------------------------------------------------------------- */

static bool read_argument(struct settings *s, int argc, char **argv, int *i, struct str *ret_why)
{
    struct str value = str_of(argv[*i] + 2);
    struct str name = str_cut(&value, '=');
    int id = find_option(name);
    if (id < 0 || !(option_table[id].commands & s->command))
        return fail(s, ret_why, "there is no option --%.*s here; --help lists them.",
                    STR_ARG(name));
    if (option_table[id].flags & OPTION_IS_SECRET) {
        struct buf text = {0};
        option_print_variable(&text, &option_table[id]);
        struct str variable = arena_take(&s->arena, &text);
        return fail(s, ret_why,
                    "--%s is not taken on the command line, which everybody on the machine can "
                    "read; set %.*s in the environment.",
                    option_table[id].name, STR_ARG(variable));
    }
    if (!option_table[id].argument) {
        if (value.p)
            return fail(s, ret_why, "--%s takes no value.", option_table[id].name);
        value = STR("true");
    } else if (!value.p) {
        if (*i + 1 >= argc)
            return fail(s, ret_why, "--%s needs a value (%s).", option_table[id].name,
                        option_table[id].argument);
        value = str_of(argv[++*i]);
    }
    struct str why;
    if (!set(s, id, value, FROM_COMMAND_LINE, 0, &why))
        return fail(s, ret_why, "--%.*s", STR_ARG(why));
    return true;
}

static bool read_command_line(struct settings *s, int argc, char **argv, struct str *ret_why)
{
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) == 0) {
            if (!read_argument(s, argc, argv, &i, ret_why))
                return false;
        } else if (!str_is_utf8(str_of(argv[i]))) {
            return fail(s, ret_why, "word %d is not valid UTF-8; give it in UTF-8.", i + 1);
        } else if (s->operand_count < ARRAY_LEN(s->operands)) {
            s->operands[s->operand_count++] = str_of(argv[i]);
        } else {
            return fail(s, ret_why, "%s is one word too many.", argv[i]);
        }
    }
    return true;
}

static void forget(struct settings *s)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        s->of[i].count = 0;
        s->of[i].source = FROM_NOWHERE;
    }
    s->operand_count = 0;
}

static bool read_all(struct settings *s, struct str *ret_why)
{
    /* First finds --config; then reads file, environment and command line, each replacing the one
     * before. */
    if (!read_environment(s, s->environment, true, ret_why) ||
        !read_command_line(s, s->argc, s->argv, ret_why))
        return false;
    struct str file = settings_text(s, OPTION_CONFIG);
    forget(s);
    if (file.p && !read_file(s, file.p, ret_why))
        return false;
    return read_environment(s, s->environment, false, ret_why) &&
           read_command_line(s, s->argc, s->argv, ret_why);
}

bool settings_read(struct settings *s, enum command command, int argc, char **argv,
                   char **environment, struct str *ret_why)
{
    *s = (struct settings){
        .command = command, .argc = argc, .argv = argv, .environment = environment};
    return read_all(s, ret_why);
}

bool settings_reread(const struct settings *first, struct settings *next, struct str *ret_why)
{
    *next = (struct settings){.command = first->command,
                              .argc = first->argc,
                              .argv = first->argv,
                              .environment = first->environment,
                              .wiped = true};
    if (!read_all(next, ret_why))
        return false;
    for (int id = 0; id < OPTION_COUNT; id++)
        if ((option_table[id].flags & OPTION_IS_SECRET) && first->of[id].source == FROM_ENVIRONMENT)
            next->of[id] = first->of[id];
    return true;
}

void settings_warn(const struct settings *s)
{
    for (size_t i = 0; i < s->unknown_variable_count; i++)
        log_warning("unknown_environment_variable", LOG_STR("name", s->unknown_variables[i]));
    if (s->file_has_key && s->public_file.p)
        log_warning("config_file_with_keys_is_readable_by_others", LOG_STR("file", s->public_file),
                    LOG_C("fix", "chmod o-rwx, or set the keys in the environment"));
}

void settings_free(struct settings *s)
{
    arena_free(&s->arena);
}

struct str settings_text(const struct settings *s, enum option_id id)
{
    if (s->of[id].count)
        return s->of[id].values[0];
    return str_of(option_fallback(id, s->command));
}

bool settings_same(const struct settings *a, const struct settings *b, enum option_id id)
{
    if (!(option_table[id].flags & OPTION_IS_LIST))
        return str_eq(settings_text(a, id), settings_text(b, id));
    bool same = a->of[id].count == b->of[id].count;
    for (size_t i = 0; same && i < a->of[id].count; i++)
        same = str_eq(a->of[id].values[i], b->of[id].values[i]);
    return same;
}

void settings_print_place(struct buf *to, const struct settings *s, enum option_id id,
                          struct str value)
{
    size_t at = 0;
    while (at + 1 < s->of[id].count && s->of[id].values[at].p != value.p)
        at++;
    if (s->of[id].source == FROM_FILE)
        buf_printf(to, "%.*s:%d: %s: ", STR_ARG(s->file), s->of[id].lines[at],
                   option_table[id].name);
    else if (s->of[id].source == FROM_ENVIRONMENT) {
        option_print_variable(to, &option_table[id]);
        buf_add_c(to, ": ");
    } else
        buf_printf(to, "--%s: ", option_table[id].name);
}

bool settings_int(struct settings *s, enum option_id id, int64_t least, int64_t most, int64_t *ret,
                  struct str *ret_why)
{
    struct str text = settings_text(s, id);
    uint64_t v;
    if (text.n < 18 && str_parse_uint(text, INT64_MAX, &v) && (int64_t)v >= least &&
        (int64_t)v <= most) {
        *ret = (int64_t)v;
        return true;
    }
    struct buf why = {0};
    settings_print_place(&why, s, id, text);
    buf_printf(&why, "%.*s is not a whole number from %lld to %lld.", STR_ARG(text),
               (long long)least, (long long)most);
    *ret_why = arena_take(&s->arena, &why);
    return false;
}

bool settings_listen(struct settings *s, struct endpoint *ret, struct str *ret_why)
{
    struct str text = settings_text(s, OPTION_LISTEN);
    if (endpoint_parse(text, ret))
        return true;
    struct buf why = {0};
    settings_print_place(&why, s, OPTION_LISTEN, text);
    buf_printf(&why, "%.*s: not an address and port such as 127.0.0.1:8080 or [::]:8080.",
               STR_ARG(text));
    *ret_why = arena_take(&s->arena, &why);
    return false;
}
