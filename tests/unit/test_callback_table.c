/* docs/state.md, "What a fact makes of a callback", against domain/callback_life.c: every fact is
 * tried in every state, and the table must say what came out. What the table calls impossible must
 * end the process. */
#include "domain/callback_life.h"

#include "state_page.h"

#define NOW INT64_C(1763726400000)

static const struct named_state {
    const char *name;
    enum callback_state state;
    enum callback_wait wait;
} named_states[] = {
    {"none", CALLBACK_NONE, WAIT_NOT},           {"pending", CALLBACK_PENDING, WAIT_DUE},
    {"held back", CALLBACK_PENDING, WAIT_HELD},  {"delivered", CALLBACK_DELIVERED, WAIT_NOT},
    {"extra try", CALLBACK_DELIVERED, WAIT_DUE}, {"dead", CALLBACK_DEAD, WAIT_NOT},
    {"skipped", CALLBACK_SKIPPED, WAIT_NOT},
};

/* --- facts -------------------------------------------------------------------------------------
 */

static void accept_reversal(struct callback_life *s)
{
    struct event e = {.app_no = 3, .lane = LANE_OFFER, .state = CALLBACK_PENDING, .due_ms = NOW};
    *s = life_accept(&e, s);
}

static void decide(struct callback_life *s, enum callback_state state, bool is_erased)
{
    life_decide(s, &(struct callback_decision){.state = state, .is_erased = is_erased});
}

static void succeed(struct callback_life *s)
{
    decide(s, CALLBACK_DELIVERED, false);
}

static void fail(struct callback_life *s)
{
    decide(s, CALLBACK_PENDING, false);
}

static void fail_for_good(struct callback_life *s)
{
    decide(s, CALLBACK_DEAD, false);
}

static void skip(struct callback_life *s)
{
    decide(s, CALLBACK_SKIPPED, false);
}

static void fail_again(struct callback_life *s)
{
    life_decide(s, &(struct callback_decision){.state = CALLBACK_PENDING, .is_again = true});
}

static void succeed_again(struct callback_life *s)
{
    life_decide(s, &(struct callback_decision){.state = CALLBACK_DELIVERED, .is_again = true});
}

static void succeed_erased(struct callback_life *s)
{
    decide(s, CALLBACK_DELIVERED, true);
}

static void fail_erased(struct callback_life *s)
{
    decide(s, CALLBACK_PENDING, true);
}

static void fail_for_good_erased(struct callback_life *s)
{
    decide(s, CALLBACK_DEAD, true);
}

static void resend(struct callback_life *s)
{
    life_resend(s, NOW, NULL);
}

static void resend_early_reversal(struct callback_life *s)
{
    life_resend(s, NOW, &(struct callback_life){.state = CALLBACK_PENDING, .wait = WAIT_DUE});
}

static void release(struct callback_life *s)
{
    (void)life_release(s, &(struct callback_life){.state = CALLBACK_DEAD}, NOW);
}

static void try_original_again(struct callback_life *s)
{
    (void)life_release(s, &(struct callback_life){.state = CALLBACK_PENDING}, NOW);
}

static const struct fact {
    const char *name;
    void (*happen)(struct callback_life *s);
} facts[] = {
    {"a reversal of it is accepted: the reversal is", accept_reversal},
    {"2xx", succeed},
    {"failed, tries left", fail},
    {"failed for good, or given up", fail_for_good},
    {"skipped by its lane", skip},
    {"failed, tries left, perhaps recorded before", fail_again},
    {"2xx, perhaps recorded before", succeed_again},
    {"2xx, erased meanwhile", succeed_erased},
    {"failed, tries left, erased meanwhile", fail_erased},
    {"failed for good, erased meanwhile", fail_for_good_erased},
    {"resend", resend},
    {"resend of a reversal whose original is pending", resend_early_reversal},
    {"its panelist is erased", life_erase},
    {"the original of the reversal becomes final", release},
    {"the original of the reversal failed, tries left", try_original_again},
};

/* --- the table ---------------------------------------------------------------------------------
 */

/* False: it is impossible, an assertion fires. The fact happens in a process of its own. */
static bool is_possible(const struct fact *fact, struct callback_life *s)
{
    int ends[2], status;
    if (pipe(ends) != 0)
        abort();
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        fact->happen(s);
        _exit(write(ends[1], s, sizeof *s) == (ssize_t)sizeof *s ? 0 : 1);
    }
    close(ends[1]);
    bool told = read(ends[0], s, sizeof *s) == (ssize_t)sizeof *s;
    close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(told || (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
    return told;
}

static const char *name_of(const struct callback_life *s)
{
    for (size_t i = 0; i < ARRAY_LEN(named_states); i++)
        if (named_states[i].state == s->state && named_states[i].wait == s->wait)
            return named_states[i].name;
    return "WRONG"; /* no such state */
}

static void print_row(FILE *to, const struct fact *fact)
{
    fprintf(to, "| %s |", fact->name);
    for (size_t i = 0; i < ARRAY_LEN(named_states); i++) {
        struct callback_life s = {
            .state = named_states[i].state,
            .wait = named_states[i].wait,
            .place = {.failed_attempts = 3, .slot = 3, .due_ms = NOW},
        };
        fprintf(to, " %s |", is_possible(fact, &s) ? name_of(&s) : "-");
    }
    fprintf(to, "\n");
}

static char *print_table(void)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    fprintf(to, "| fact |");
    for (size_t i = 0; i < ARRAY_LEN(named_states); i++)
        fprintf(to, " %s |", named_states[i].name);
    fprintf(to, "\n|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < ARRAY_LEN(facts); i++)
        print_row(to, &facts[i]);
    fclose(to);
    return text;
}

static void the_page_says_what_every_fact_makes_of_every_state(void)
{
    check_state_page(print_table());
}

int main(void)
{
    RUN(the_page_says_what_every_fact_makes_of_every_state);
    return check_done("callback_table");
}
