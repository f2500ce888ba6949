/* The table of a build without the dashboard: there are no files, and every page is a 404. */
#include "web/web.h"

const struct web_file web_files[] = {{.path = STR_NONE}};
const size_t web_file_count = 0;
