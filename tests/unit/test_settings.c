/* Options from file, environment and command line: which beats which, and each clear error. */
#include "base/buf.h"
#include "cli/option.h"

#include "check.h"

#include <stdlib.h>

static bool read_words(struct settings *s, const char *words, char **environment, struct str *why)
{
    static char text[512];
    char *argv[16];
    int argc = 0;
    snprintf(text, sizeof text, "%s", words);
    for (char *save = NULL, *word = strtok_r(text, " ", &save); word;
         word = strtok_r(NULL, " ", &save))
        argv[argc++] = word;
    return settings_read(s, COMMAND_SERVE, argc, argv, environment, why);
}

static void defaults_come_from_the_table(void)
{
    struct settings s;
    struct str why;
    REQUIRE(read_words(&s, "", NULL, &why));
    CHECK_STR(settings_text(&s, OPTION_LISTEN), "127.0.0.1:8080");
    CHECK(!settings_text(&s, OPTION_TLS_CERT).p);
    settings_free(&s);
}

static void the_command_line_beats_the_environment_which_beats_the_file(void)
{
    char path[] = "/tmp/postbackd-test-XXXXXX";
    int fd = mkstemp(path);
    REQUIRE(fd >= 0);
    const char file[] = "# a comment\n\nloops = 1\nreads-per-minute = 10\nlog-format=json\r\n";
    REQUIRE(write(fd, file, sizeof file - 1) == (ssize_t)sizeof file - 1);
    close(fd);
    char words[128];
    snprintf(words, sizeof words, "--config %s --loops 3", path);
    char reads[] = "POSTBACKD_READS_PER_MINUTE=20", loops[] = "POSTBACKD_LOOPS=2";
    char *environment[] = {reads, loops, NULL};
    struct settings s;
    struct str why;
    REQUIRE(read_words(&s, words, environment, &why));
    CHECK_STR(settings_text(&s, OPTION_LOOPS), "3");
    CHECK_STR(settings_text(&s, OPTION_READS_PER_MINUTE), "20");
    CHECK_STR(settings_text(&s, OPTION_LOG_FORMAT), "json");
    settings_free(&s);
    unlink(path);
}

static void lists_grow_within_one_source(void)
{
    char cidrs[] = "POSTBACKD_ALLOW_DESTINATION=10.0.0.0/8, 127.0.0.0/8";
    char *environment[] = {cidrs, NULL};
    struct settings s;
    struct str why;
    REQUIRE(read_words(&s, "", environment, &why));
    CHECK_EQ_UINT(s.of[OPTION_ALLOW_DESTINATION].count, 2);
    CHECK_STR(s.of[OPTION_ALLOW_DESTINATION].values[1], "127.0.0.0/8");
    settings_free(&s);
    REQUIRE(read_words(&s, "--allow-destination ::1/128", environment, &why));
    CHECK_EQ_UINT(s.of[OPTION_ALLOW_DESTINATION].count, 1);
    settings_free(&s);
}

static void check_refused(const char *words, const char *part)
{
    struct settings s;
    struct str why = STR("");
    CHECK(!read_words(&s, words, NULL, &why));
    if (!CHECK(why.p && memmem(why.p, why.n, part, strlen(part))))
        printf("    \"%.*s\" lacks \"%s\"\n", STR_ARG(why), part);
    settings_free(&s);
}

static void says_what_is_wrong(void)
{
    check_refused("--nonsense 1", "--nonsense");
    check_refused("--listen", "ADDR:PORT");
    check_refused("--loops 1 --loops 2", "twice");
    check_refused("--operator-key x", "POSTBACKD_OPERATOR_KEY");
    check_refused("--config /nowhere/at/all", "/nowhere/at/all: No such file");
    check_refused("--secret x", "no option --secret");
    check_refused("one two three", "too many");
}

static void the_file_names_its_line(void)
{
    struct settings s = {.command = COMMAND_SERVE};
    struct str why;
    CHECK(!settings_parse_file(&s, STR("f"), STR("loops = 1\nlistne = x\n"), &why));
    CHECK(memmem(why.p, why.n, "f:2", 3) != NULL);
    CHECK(!settings_parse_file(&s, STR("f"), STR("loops\n"), &why));
    CHECK(!settings_parse_file(&s, STR("f"), STR("= x\n"), &why));
    CHECK(str_is(why, "f:1: the name of an option is missing before `=`."));
    CHECK(!settings_parse_file(&s, STR("f"), STR("reads-per-minute =\n"), &why));
    CHECK(!settings_parse_file(&s, STR("f"), STR("\xff"), &why));
    settings_free(&s);
}

static void a_wrong_value_names_its_place(void)
{
    struct settings s = {.command = COMMAND_SERVE};
    struct str why;
    struct buf place = {0};
    int64_t n;
    REQUIRE(settings_parse_file(&s, STR("f"),
                                STR("\xEF\xBB\xBFloops = x\nallow-destination = a\n"
                                    "allow-destination = b\n"),
                                &why));
    CHECK(!settings_int(&s, OPTION_LOOPS, 0, 64, &n, &why));
    CHECK_STR(why, "f:1: loops: x is not a whole number from 0 to 64.");
    settings_print_place(&place, &s, OPTION_ALLOW_DESTINATION,
                         s.of[OPTION_ALLOW_DESTINATION].values[1]);
    CHECK_CSTR(buf_c(&place), "f:3: allow-destination: ");
    buf_free(&place);
    settings_free(&s);
    char reads[] = "POSTBACKD_READS_PER_MINUTE=x";
    char *environment[] = {reads, NULL};
    REQUIRE(read_words(&s, "--loops y", environment, &why));
    CHECK(!settings_int(&s, OPTION_READS_PER_MINUTE, 1, 9, &n, &why));
    CHECK(str_has_prefix(why, "POSTBACKD_READS_PER_MINUTE: x is not"));
    CHECK(!settings_int(&s, OPTION_LOOPS, 0, 64, &n, &why));
    CHECK(str_has_prefix(why, "--loops: y"));
    settings_free(&s);
}

int main(void)
{
    RUN(defaults_come_from_the_table);
    RUN(the_command_line_beats_the_environment_which_beats_the_file);
    RUN(lists_grow_within_one_source);
    RUN(says_what_is_wrong);
    RUN(the_file_names_its_line);
    RUN(a_wrong_value_names_its_place);
    return check_done("settings");
}
