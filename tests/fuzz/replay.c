/*
 * A plain main for fuzz targets: replays every file of the directories (or files) named, so that
 * what a fuzzer once found stays found. An input whose handling ends the process leaves its name
 * as the last line. No file at all is a failure: an empty corpus proves nothing.
 */
#include "fuzz.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int replayed;

static int replay_file(const char *path, size_t file_bytes)
{
    FILE *in = fopen(path, "rb");
    if (in == NULL) {
        perror(path);
        return 1;
    }
    /* Exactly as large as the input, so that the address sanitizer sees a read past its end. */
    uint8_t *data = malloc(file_bytes > 0 ? file_bytes : 1);
    if (data == NULL || fread(data, 1, file_bytes, in) != file_bytes) {
        perror(path);
        free(data);
        fclose(in);
        return 1;
    }
    fclose(in);
    printf("%s\n", path);
    fflush(stdout);
    int status = LLVMFuzzerTestOneInput(data, file_bytes);
    free(data);
    replayed++;
    return status;
}

static int replay(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        perror(path);
        return 1;
    }
    if (!S_ISDIR(st.st_mode))
        return replay_file(path, (size_t)st.st_size);

    struct dirent **names = NULL;
    int n = scandir(path, &names, NULL, alphasort);
    int status = n < 0;
    for (int i = 0; i < n; i++) {
        char inner[PATH_MAX];
        int len = snprintf(inner, sizeof inner, "%s/%s", path, names[i]->d_name);
        if (names[i]->d_name[0] != '.' && (len < 0 || (size_t)len >= sizeof inner || replay(inner)))
            status = 1;
        free(names[i]);
    }
    free(names);
    return status;
}

int main(int argc, char **argv)
{
    int status = 0;
    for (int i = 1; i < argc; i++)
        status |= replay(argv[i]);
    const char *slash = strrchr(argv[0], '/');
    bool good = status == 0 && replayed > 0;
    printf("%d inputs\n%s: %d passed, %d failed\n", replayed, slash != NULL ? slash + 1 : argv[0],
           good ? 1 : 0, good ? 0 : 1);
    return good ? 0 : 1;
}
