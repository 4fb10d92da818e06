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
/// Gives the terminal back, stops the job (SIGTSTP), and has raw mode again when it goes on, or at once where
/// nothing stops it; then `enter` is written. Writes wait meanwhile, and come behind it. False if the terminal was
/// not ours, or is not ours again.
bool otchat_terminal_suspend(const char *enter);
/// Raw mode again and `enter` written, after somebody else (a shell, on SIGCONT) changed it.
bool otchat_terminal_resume(const char *enter);
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
typedef struct {
  /// Without its interface's name, if it is link-local.
  char text[48];
  char interface[16];
  /// `bridge`, `veth`, `tun`, …; empty: a device.
  char kind[16];
  int interface_index;
  bool is_ipv6;
  bool is_up;
  bool is_loopback;
  /// One that changes after a day or so (RFC 8981).
  bool is_temporary;
  bool is_deprecated;
  /// Somebody else may have it, or has (RFC 4862, 5.4).
  bool is_unready;
  /// Whether a default route of either family goes out by its interface.
  bool has_default_route;
} otchat_local_address;
/// All addresses of this machine, at most `capacity` (rtnetlink: RTM_GETADDR, RTM_GETLINK, RTM_GETROUTE).
/// Returns how many; -1 if they cannot be found out. Takes 0.1 ms, with thousands of routes some milliseconds.
int otchat_local_addresses(otchat_local_address *addresses, int capacity);
/// Takes what is to be read. What it was does not matter: whoever is told looks for itself.
void otchat_drain(int fd);

// Media beside an ICE agent on one port.
/// A second socket with the address and marks of the UDP socket `first`: from now on what begins like DTLS, RTP
/// or RTCP (RFC 7983, 7) arrives here, STUN and the rest there. Non-blocking, close-on-exec. -1 if the system
/// cannot; closed, all arrives at the first again.
int otchat_media_socket(int first);
/// Where a datagram comes from or goes to; equal if all fields are.
typedef struct {
  uint16_t family, port;
  uint64_t high, low;
} otchat_address;
/// - Parameter socket_address: a `struct sockaddr` of IPv4 or IPv6.
otchat_address otchat_address_of(const void *socket_address);
/// Memory for the datagrams of one system call.
typedef struct otchat_inbox otchat_inbox;
otchat_inbox *otchat_inbox_new(void);
/// How many datagrams have been received, up to 16; 0 if there are none. Longer ones than 8192 bytes are cut.
int otchat_inbox_receive(otchat_inbox *inbox, int fd);
/// One of those, aligned, valid until the next call.
void *otchat_inbox_datagram(otchat_inbox *inbox, int index, int *count, otchat_address *from);
/// False if it could not be sent at once. `socket_address` is a `struct sockaddr` of IPv4 or IPv6.
bool otchat_send(int fd, const void *bytes, int count, const void *socket_address);
