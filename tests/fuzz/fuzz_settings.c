/* Any bytes as a config file: either one clear line says what is wrong, or every value is one
 * that its option can have, and a file written from the values reads back as the same values. */
#include "fuzz.h"

#include "base/buf.h"
#include "cli/option.h"

static void check_value(enum option_id id, struct str value)
{
    ASSERT(value.n > 0 && str_is_utf8(value) && str_eq(value, str_trim(value)));
    ASSERT(!memchr(value.p, '\0', value.n) && !memchr(value.p, '\n', value.n));
    if (!option_table[id].argument)
        ASSERT(str_is(value, "true") || str_is(value, "false"));
}

static void check_values(const struct settings *s)
{
    for (enum option_id id = 0; id < OPTION_COUNT; id++) {
        size_t count = s->of[id].count;
        ASSERT(count <= (option_table[id].flags & OPTION_IS_LIST ? SETTING_VALUES_MAX : 1));
        if (!count)
            continue;
        ASSERT(id != OPTION_CONFIG && (option_table[id].commands & COMMAND_SERVE));
        ASSERT(s->of[id].source == FROM_FILE);
        for (size_t i = 0; i < count; i++)
            check_value(id, s->of[id].values[i]);
    }
}

/* A number is in its range or is refused with a line about it. */
static void check_number(struct settings *s, enum option_id id)
{
    int64_t number = -1;
    struct str why = STR_NONE;
    if (settings_int(s, id, 0, 1000, &number, &why))
        ASSERT(number >= 0 && number <= 1000);
    else
        ASSERT(number == -1 && why.n > 0);
}

static void check_written_again(const struct settings *s)
{
    struct buf file = {0};
    struct settings again = {.command = COMMAND_SERVE};
    struct str why;
    for (enum option_id id = 0; id < OPTION_COUNT; id++)
        for (size_t i = 0; i < s->of[id].count; i++)
            buf_printf(&file, "%s=%.*s\r\n", option_table[id].name, STR_ARG(s->of[id].values[i]));
    ASSERT(settings_parse_file(&again, STR("again"), buf_str(&file), &why));
    for (enum option_id id = 0; id < OPTION_COUNT; id++) {
        ASSERT(again.of[id].count == s->of[id].count);
        for (size_t i = 0; i < s->of[id].count; i++)
            ASSERT(str_eq(again.of[id].values[i], s->of[id].values[i]));
    }
    settings_free(&again);
    buf_free(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct settings s = {.command = COMMAND_SERVE};
    struct str why = STR_NONE;
    if (settings_parse_file(&s, STR("f"), (struct str){(const char *)data, data_bytes}, &why)) {
        check_values(&s);
        check_number(&s, OPTION_LOOPS);
        check_number(&s, OPTION_READS_PER_MINUTE);
        check_written_again(&s);
    } else {
        ASSERT(why.n > 0 && !memchr(why.p, '\n', why.n));
    }
    settings_free(&s);
    return 0;
}
