#define _GNU_SOURCE
#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

// What the handlers need is written before `active` is set and not changed while it is. Atomic, since a
// crash on one thread gives the terminal back while another draws.
static struct {
  atomic_bool active;
  int input, output;
  struct termios saved;
  char leave[256];
  size_t leave_count;
} terminal;

static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT, SIGSYS};
enum { CRASH_SIGNALS = sizeof crash_signals / sizeof crash_signals[0] };
static struct sigaction previous[CRASH_SIGNALS];
static volatile sig_atomic_t guarded;

// Held over each write, so that nothing is drawn on the screen that was given back.
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

_Static_assert(ATOMIC_BOOL_LOCK_FREE == 2, "signal handlers must not lock");

// Async-signal-safe: write(2), poll(2), tcflush(3). What a terminal that does not read has not read of a picture
// is not worth reading any more; of what others wrote meanwhile nothing is thrown away.
static void put(const char *bytes, size_t count, bool is_ours) {
  for (int attempt = 0; count > 0 && attempt < 4; attempt++) {
    ssize_t written = write(terminal.output, bytes, count);
    if (written > 0) {
      bytes += written;
      count -= (size_t)written;
    } else if (written < 0 && errno == EAGAIN) {
      struct pollfd ready = {.fd = terminal.output, .events = POLLOUT};
      if (poll(&ready, 1, is_ours ? 100 : 250) == 0 && is_ours) tcflush(terminal.output, TCOFLUSH);
    } else if (written < 0 && errno != EINTR) {
      break;
    }
  }
}

// Async-signal-safe, as tcsetattr(3) is, too. Whoever comes first does it.
static void restore(void) {
  if (!atomic_exchange(&terminal.active, false)) return;
  int saved_errno = errno;
  put(terminal.leave, terminal.leave_count, true);
  // Answers of the terminal and keys for the call are not for the shell.
  tcflush(terminal.input, TCIFLUSH);
  tcsetattr(terminal.input, TCSANOW, &terminal.saved);
  errno = saved_errno;
}

// Whoever draws may be held up by a terminal that does not read: false after a second.
static bool close_gate(void) {
  struct timespec patience;
  clock_gettime(CLOCK_MONOTONIC, &patience);
  patience.tv_sec += 1;
  return pthread_mutex_clocklock(&gate, CLOCK_MONOTONIC, &patience) == 0;
}

void otchat_terminal_leave(void) {
  // The shell gets it back in any case.
  bool held = close_gate();
  restore();
  if (held) pthread_mutex_unlock(&gate);
}

long otchat_terminal_write(const void *bytes, long count) {
  long written = -1;
  pthread_mutex_lock(&gate);
  if (terminal.active)
    written = write(terminal.output, bytes, (size_t)count);
  else
    errno = EIO;
  int saved_errno = errno;
  pthread_mutex_unlock(&gate);
  errno = saved_errno;
  return written;
}

// Restores the terminal, then lets the fault take its course with whatever handler was there before.
static void crashed(int signal, siginfo_t *info, void *context) {
  (void)context;
  restore();
  for (int i = 0; i < CRASH_SIGNALS; i++)
    if (crash_signals[i] == signal) sigaction(signal, &previous[i], NULL);
  // A fault repeats itself on return; a signal that somebody sent does not.
  if (info->si_code <= 0 || signal == SIGABRT) raise(signal);
}

static void guard(void) {
  if (guarded) return;
  guarded = 1;
  struct sigaction action = {.sa_sigaction = crashed, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigfillset(&action.sa_mask);
  for (int i = 0; i < CRASH_SIGNALS; i++) sigaction(crash_signals[i], &action, &previous[i]);
  atexit(otchat_terminal_leave);
}

static bool set_raw(int input) {
  struct termios raw = terminal.saved;
  cfmakeraw(&raw);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  return tcsetattr(input, TCSANOW, &raw) == 0;
}

bool otchat_terminal_enter(int input, int output, const char *leave) {
  if (terminal.active || tcgetattr(input, &terminal.saved) != 0) return false;
  terminal.input = input;
  terminal.output = output;
  terminal.leave_count = strnlen(leave, sizeof terminal.leave);
  memcpy(terminal.leave, leave, terminal.leave_count);
  guard();
  terminal.active = true;
  if (set_raw(input)) return true;
  terminal.active = false;
  return false;
}

// With the gate held: nobody draws before the screen is there.
static bool take_back(const char *enter) {
  bool raw = set_raw(terminal.input);
  if (raw) put(enter, strlen(enter), false);
  return raw;
}

bool otchat_terminal_suspend(const char *enter) {
  const struct timespec moment = {.tv_nsec = 50 * 1000 * 1000};
  if (!close_gate()) return false;
  bool suspended = terminal.active;
  if (suspended) {
    // What the terminal still answers is not for the shell.
    nanosleep(&moment, NULL);
    restore();
    // The whole job, as the terminal does it: `make` that started us, too.
    kill(0, SIGTSTP);
    // It may be that another thread is told first, and that nothing stops a process without a job.
    nanosleep(&moment, NULL);
    terminal.active = true;
    suspended = take_back(enter);
  }
  pthread_mutex_unlock(&gate);
  return suspended;
}

bool otchat_terminal_resume(const char *enter) {
  if (!close_gate()) return false;
  bool resumed = terminal.active && take_back(enter);
  pthread_mutex_unlock(&gate);
  return resumed;
}

int otchat_reopen_terminal(int fd) {
  char path[256];
  if (ttyname_r(fd, path, sizeof path) != 0) return -1;
  return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static int watchers[65];
static volatile sig_atomic_t watched[65];

static void report(int signal) {
  int saved_errno = errno;
  unsigned char byte = (unsigned char)signal;
  // A full pipe has news enough.
  if (write(watchers[signal], &byte, 1) < 0) errno = saved_errno;
  errno = saved_errno;
}

bool otchat_watch_signal(int signal, int fd) {
  if (signal < 1 || signal > 64) return false;
  watchers[signal] = fd;
  watched[signal] = 1;
  struct sigaction action = {.sa_handler = report, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  return sigaction(signal, &action, NULL) == 0;
}

void otchat_unwatch_signal(int signal) {
  if (signal < 1 || signal > 64 || !watched[signal]) return;
  watched[signal] = 0;
  struct sigaction action = {.sa_handler = SIG_DFL};
  sigaction(signal, &action, NULL);
}

bool otchat_pipe(int ends[2]) { return pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0; }
