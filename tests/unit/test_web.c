/* Whether an Accept-Encoding takes gzip. */
#include "web/web.h"

#include "check.h"

static void takes_gzip(void)
{
    CHECK(web_takes_gzip(STR("gzip")));
    CHECK(web_takes_gzip(STR("deflate, GZIP;q=0.5")));
    CHECK(web_takes_gzip(STR("br, x-gzip")));
    CHECK(web_takes_gzip(STR("*")));
    CHECK(web_takes_gzip(STR("gzip; q=1.0, identity")));
    CHECK(web_takes_gzip(STR("*;q=0, gzip")));
}

static void takes_it_only_when_told(void)
{
    CHECK(!web_takes_gzip(STR_NONE));
    CHECK(!web_takes_gzip(STR("")));
    CHECK(!web_takes_gzip(STR("identity")));
    CHECK(!web_takes_gzip(STR("gzip;q=0")));
    CHECK(!web_takes_gzip(STR("gzip; q=0.000, *")));
    CHECK(!web_takes_gzip(STR("*;q=0")));
    CHECK(!web_takes_gzip(STR("gzipped")));
}

int main(void)
{
    RUN(takes_gzip);
    RUN(takes_it_only_when_told);
    return check_done("web");
}
