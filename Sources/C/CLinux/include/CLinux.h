// What Glibc has and Swift's Glibc module hides (_GNU_SOURCE) or cannot import (macros, variadic
// functions). It includes no header that the Glibc module includes too: two views of one struct clash.
#pragma once
#include <stdbool.h>
#include <stdint.h>

/// Names the calling thread; 15 bytes are kept.
void otchat_set_thread_name(const char *name);
/// The terminal's size; false if `fd` is no terminal.
bool otchat_window_size(int fd, int *columns, int *rows, int *pixel_width, int *pixel_height);
/// eventfd(2), non-blocking, close-on-exec; -1 on failure.
int otchat_eventfd(void);
/// Semaphore that waits on CLOCK_MONOTONIC.
typedef struct otchat_semaphore otchat_semaphore;
otchat_semaphore *otchat_semaphore_new(unsigned value);
void otchat_semaphore_free(otchat_semaphore *semaphore);
void otchat_semaphore_post(otchat_semaphore *semaphore);
/// False if CLOCK_MONOTONIC reached `nanoseconds` first.
bool otchat_semaphore_wait(otchat_semaphore *semaphore, int64_t nanoseconds);
/// CPU time of this process in microseconds, user and system.
int64_t otchat_cpu_microseconds(void);
/// O_NONBLOCK on a descriptor.
void otchat_set_nonblocking(int fd, bool on);

// The terminal. One at a time; restored by `otchat_terminal_leave`, at exit, and when the process crashes.
/// Saves the attributes of `input` and sets raw mode. From then on `leave` (at most 256 bytes) is written to
/// `output` and the attributes are put back by whatever ends the process. False if `input` is no terminal.
bool otchat_terminal_enter(int input, int output, const char *leave);
/// Any thread; the second call does nothing.
void otchat_terminal_leave(void);
/// write(2) to `output`; fails with EIO before `enter` and after `leave`.
long otchat_terminal_write(const void *bytes, long count);
/// Raw mode again, after somebody else (a shell, on SIGCONT) changed it.
bool otchat_terminal_resume(void);
/// Another, non-blocking open file of the terminal behind `fd`, which leaves `fd` itself as it is; -1 if
/// there is none.
int otchat_reopen_terminal(int fd);

// Signals as bytes in a pipe.
/// From now on `signal` writes its number into `fd`, which does not block.
bool otchat_watch_signal(int signal, int fd);
/// Back to the default action.
void otchat_unwatch_signal(int signal);
/// A pipe that does not block and is closed on exec: read end, write end.
bool otchat_pipe(int ends[2]);
/// Gives pictures back to the kernel as they are freed: without it glibc learns from their size that large
/// blocks belong on the heap, where they leave holes of megabytes.
void otchat_return_large_blocks(void);

// The machine's addresses.
/// A netlink socket that can be read whenever an address came or went; non-blocking, close-on-exec; -1 on
/// failure.
int otchat_address_changes(void);
/// Takes what is to be read. What it was does not matter: whoever is told looks for itself.
void otchat_drain(int fd);
