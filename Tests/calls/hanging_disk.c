/* A disk that hangs, for one process: what makes, renames, links or locks files, or writes to the database, waits as
   long as the file named by HANGING_DISK is there. Loaded with LD_PRELOAD; other directories than those of the state are left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
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

static int is_database(int descriptor) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t count = readlink(link, path, sizeof path - 1);
  path[count < 0 ? 0 : count] = 0;
  return strstr(path, "/otchat.db") != NULL;
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
  if (is_database(descriptor)) wait_for_disk();
  return NEXT(write)(descriptor, bytes, count);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
  if (is_database(descriptor)) wait_for_disk();
  return NEXT(pwrite)(descriptor, bytes, count, offset);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
  if (is_database(descriptor)) wait_for_disk();
  return NEXT(pwrite64)(descriptor, bytes, count, offset);
}
