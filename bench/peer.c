/* SPDX-License-Identifier: MIT
 *
 * bench/peer.c - looks in the environment, in the peers' folder, and in the system.
 */
#include "bench/peer.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <unistd.h>

static const char *folder(void)
{
    const char *given = getenv("TROUPE_PEERS");
    return given && *given ? given : "peers";
}

/* Some libraries greet on standard error when they are opened. */
static void *open_quietly(const char *path)
{
    const int kept = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0 && kept >= 0) dup2(nowhere, STDERR_FILENO);
    void *library = dlopen(path, RTLD_LAZY | RTLD_GLOBAL);
    if (kept >= 0) dup2(kept, STDERR_FILENO);
    if (kept >= 0) close(kept);
    if (nowhere >= 0) close(nowhere);
    return library;
}

static void *open_match(const char *pattern)
{
    char path[4096];
    void *library = NULL;
    glob_t found;
    snprintf(path, sizeof(path), "%s/%s", folder(), pattern);
    if (glob(path, 0, NULL, &found) == 0) {
        library = open_quietly(found.gl_pathv[0]);
        globfree(&found);
    }
    return library;
}

void *peer_library(const struct bench *b, const char *variable, const char *pattern,
                   const char *soname)
{
    const char *given = getenv(variable);
    void *library = given && *given ? open_quietly(given) : open_match(pattern);
    if (!library && !(given && *given)) library = open_quietly(soname);
    if (!library)
        bench_skip(b, "no %s (%s, %s/%s, nor in the system); bench/peers.sh installs it",
                   soname, variable, folder(), pattern);
    return library;
}

void *peer_symbol(const struct bench *b, void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    if (!symbol) bench_skip(b, "the library has no %s", name);
    return symbol;
}

void peer_file(const struct bench *b, const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", folder(), name);
    if (access(path, R_OK) != 0) bench_skip(b, "no %s; bench/peers.sh makes it", path);
}
