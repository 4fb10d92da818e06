#define _GNU_SOURCE
#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>

void otchat_set_thread_name(const char *name) { pthread_setname_np(pthread_self(), name); }

bool otchat_window_size(int fd, int *columns, int *rows, int *pixel_width, int *pixel_height) {
  struct winsize size;
  if (ioctl(fd, TIOCGWINSZ, &size) != 0) return false;
  *columns = size.ws_col;
  *rows = size.ws_row;
  *pixel_width = size.ws_xpixel;
  *pixel_height = size.ws_ypixel;
  return true;
}

int otchat_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

struct otchat_semaphore {
  sem_t handle;
};

otchat_semaphore *otchat_semaphore_new(unsigned value) {
  otchat_semaphore *semaphore = malloc(sizeof *semaphore);
  if (!semaphore) abort();
  sem_init(&semaphore->handle, 0, value);
  return semaphore;
}

void otchat_semaphore_free(otchat_semaphore *semaphore) {
  sem_destroy(&semaphore->handle);
  free(semaphore);
}

void otchat_semaphore_post(otchat_semaphore *semaphore) { sem_post(&semaphore->handle); }

bool otchat_semaphore_wait(otchat_semaphore *semaphore, int64_t nanoseconds) {
  struct timespec time = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
  while (sem_clockwait(&semaphore->handle, CLOCK_MONOTONIC, &time) != 0)
    if (errno != EINTR) return false;
  return true;
}

int64_t otchat_cpu_microseconds(void) {
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * INT64_C(1000000) + usage.ru_utime.tv_usec +
         usage.ru_stime.tv_usec;
}

void otchat_set_nonblocking(int fd, bool on) {
  int flags = fcntl(fd, F_GETFL);
  if (flags >= 0) fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}

void otchat_return_large_blocks(void) {
  mallopt(M_MMAP_THRESHOLD, 128 * 1024);
  mallopt(M_TRIM_THRESHOLD, 128 * 1024);
  mallopt(M_TOP_PAD, 0);
}
