/* A disk that hangs, for one process: what makes, renames, links or locks files waits as long as the file named by
   HANGING_DISK is there. Loaded with LD_PRELOAD; other directories than those of the state are left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static void wait_for_disk(void) {
  const char *name = getenv("HANGING_DISK");
  while (name && access(name, F_OK) == 0) usleep(20000);
}

static int is_state(const char *path) { return path && (strstr(path, "/sessions") || strstr(path, "/archives")); }

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int rename(const char *from, const char *to) {
  if (is_state(to)) wait_for_disk();
  return NEXT(rename)(from, to);
}

int unlink(const char *path) {
  if (is_state(path)) wait_for_disk();
  return NEXT(unlink)(path);
}

int mkdir(const char *path, mode_t mode) {
  if (is_state(path)) wait_for_disk();
  return NEXT(mkdir)(path, mode);
}

int futimens(int descriptor, const struct timespec times[2]) {
  wait_for_disk();
  return NEXT(futimens)(descriptor, times);
}
