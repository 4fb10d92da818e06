#define _GNU_SOURCE
#include "CLinux.h"
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

int otchat_address_changes(void) {
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  if (fd < 0) return -1;
  struct sockaddr_nl name = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
  if (bind(fd, (struct sockaddr *)&name, sizeof name) == 0) return fd;
  close(fd);
  return -1;
}

void otchat_drain(int fd) {
  char buffer[8192];
  // ENOBUFS: something was lost, which is a change too.
  for (int count = 0; count < 64; count++) {
    if (recv(fd, buffer, sizeof buffer, 0) < 0 && errno != ENOBUFS && errno != EINTR) return;
  }
}
