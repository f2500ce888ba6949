/* Looking for a table in the page. */
#include "state_page.h"

void check_state_page(char *table)
{
    static char page[200000];
    FILE *f = fopen(STATE_PAGE, "r");
    REQUIRE(f != NULL);
    page[fread(page, 1, sizeof page - 1, f)] = 0;
    fclose(f);
    if (!CHECK(strstr(page, table) != NULL))
        printf("docs/state.md lacks this table, or has another:\n%s", table);
    free(table);
}
