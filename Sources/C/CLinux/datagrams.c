#define _GNU_SOURCE
#include "CLinux.h"
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// RFC 7983, 7: DTLS, RTP and RTCP go to the second socket of the port; STUN, TURN and what nobody knows stay
// with the first.
static bool share_media(int fd) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 192, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 128, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 64, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 20, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, 1),
      BPF_STMT(BPF_RET | BPF_K, 0),
  };
  struct sock_fprog program = {sizeof code / sizeof code[0], code};
  return setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program) == 0;
}

static void copy_option(int from, int to, int level, int name) {
  int value;
  socklen_t size = sizeof value;
  if (getsockopt(from, level, name, &value, &size) == 0) setsockopt(to, level, name, &value, size);
}

int otchat_media_socket(int first) {
  struct sockaddr_storage name;
  socklen_t size = sizeof name;
  if (getsockname(first, (struct sockaddr *)&name, &size) != 0) return -1;
  if (name.ss_family != AF_INET && name.ss_family != AF_INET6) return -1;
  int fd = socket(name.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  if (name.ss_family == AF_INET6) {
    copy_option(first, fd, IPPROTO_IPV6, IPV6_V6ONLY);
    copy_option(first, fd, IPPROTO_IPV6, IPV6_TCLASS);
  }
  copy_option(first, fd, IPPROTO_IP, IP_TOS);
  int on = 1, off = 0;
  if (setsockopt(first, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0) {
    bool shares = setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0 &&
                  bind(fd, (struct sockaddr *)&name, size) == 0 && share_media(fd);
    if (shares) return fd;
    setsockopt(first, SOL_SOCKET, SO_REUSEPORT, &off, sizeof off);
  }
  close(fd);
  return -1;
}

otchat_address otchat_address_of(const void *socket_address) {
  otchat_address address;
  memset(&address, 0, sizeof address);
  const struct sockaddr *any = socket_address;
  if (any->sa_family == AF_INET) {
    const struct sockaddr_in *v4 = socket_address;
    address.family = 4;
    address.port = v4->sin_port;
    memcpy(&address.high, &v4->sin_addr, 4);
  } else if (any->sa_family == AF_INET6) {
    const struct sockaddr_in6 *v6 = socket_address;
    address.family = 6;
    address.port = v6->sin6_port;
    memcpy(&address.high, &v6->sin6_addr, 8);
    memcpy(&address.low, (const char *)&v6->sin6_addr + 8, 8);
  }
  return address;
}

enum { BATCH = 16, SLOT = 8192 };

struct otchat_inbox {
  struct mmsghdr headers[BATCH];
  struct iovec parts[BATCH];
  struct sockaddr_storage names[BATCH];
  char slots[BATCH][SLOT] __attribute__((aligned(64)));
};

otchat_inbox *otchat_inbox_new(void) {
  otchat_inbox *inbox = aligned_alloc(64, sizeof *inbox);
  if (!inbox) abort();
  memset(inbox->headers, 0, sizeof inbox->headers);
  for (int i = 0; i < BATCH; i++) {
    inbox->parts[i] = (struct iovec){inbox->slots[i], SLOT};
    inbox->headers[i].msg_hdr.msg_iov = &inbox->parts[i];
    inbox->headers[i].msg_hdr.msg_iovlen = 1;
    inbox->headers[i].msg_hdr.msg_name = &inbox->names[i];
    inbox->headers[i].msg_hdr.msg_namelen = sizeof inbox->names[i];
  }
  return inbox;
}

int otchat_inbox_receive(otchat_inbox *inbox, int fd) {
  int count = recvmmsg(fd, inbox->headers, BATCH, MSG_DONTWAIT, NULL);
  for (int i = 0; i < count; i++) inbox->headers[i].msg_hdr.msg_namelen = sizeof inbox->names[i];
  return count > 0 ? count : 0;
}

void *otchat_inbox_datagram(otchat_inbox *inbox, int index, int *count, otchat_address *from) {
  *count = (int)inbox->headers[index].msg_len;
  *from = otchat_address_of(&inbox->names[index]);
  return inbox->slots[index];
}

bool otchat_send(int fd, const void *bytes, int count, const void *socket_address) {
  const struct sockaddr *to = socket_address;
  socklen_t size = to->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
  return sendto(fd, bytes, (size_t)count, MSG_DONTWAIT | MSG_NOSIGNAL, to, size) == count;
}
