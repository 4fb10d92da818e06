#define _GNU_SOURCE
#include "CLinux.h"
#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { buffer_size = 64 * 1024, maximum_messages = 16384 };

struct list {
  otchat_local_address *addresses;
  int capacity, count;
};

typedef void (*handler)(struct list *list, struct nlmsghdr *message);

/// Text that ends within its attribute, into `text`.
static void copy_text(char *text, size_t size, struct rtattr *attribute) {
  size_t length = strnlen(RTA_DATA(attribute), RTA_PAYLOAD(attribute));
  if (length >= size) length = size - 1;
  memcpy(text, RTA_DATA(attribute), length);
  text[length] = 0;
}

static void take_address(struct list *list, struct nlmsghdr *message) {
  if (message->nlmsg_type != RTM_NEWADDR || message->nlmsg_len < NLMSG_LENGTH(sizeof(struct ifaddrmsg))) return;
  struct ifaddrmsg *header = NLMSG_DATA(message);
  size_t size = header->ifa_family == AF_INET ? 4 : header->ifa_family == AF_INET6 ? 16 : 0;
  if (size == 0 || list->count >= list->capacity) return;
  uint32_t flags = header->ifa_flags;
  const void *local = NULL, *address = NULL;
  int left = (int)IFA_PAYLOAD(message);
  for (struct rtattr *a = IFA_RTA(header); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
    if (a->rta_type == IFA_LOCAL && RTA_PAYLOAD(a) == size) local = RTA_DATA(a);
    if (a->rta_type == IFA_ADDRESS && RTA_PAYLOAD(a) == size) address = RTA_DATA(a);
    if (a->rta_type == IFA_FLAGS && RTA_PAYLOAD(a) == 4) memcpy(&flags, RTA_DATA(a), 4);
  }
  // Of a link from point to point `IFA_ADDRESS` is the other end.
  const void *own = local ? local : address;
  otchat_local_address found = {.interface_index = (int)header->ifa_index, .is_ipv6 = size == 16};
  if (!own || !inet_ntop(header->ifa_family, own, found.text, sizeof found.text)) return;
  found.is_temporary = found.is_ipv6 && (flags & IFA_F_TEMPORARY);
  found.is_deprecated = flags & IFA_F_DEPRECATED;
  found.is_unready = (flags & IFA_F_DADFAILED) || ((flags & IFA_F_TENTATIVE) && !(flags & IFA_F_OPTIMISTIC));
  list->addresses[list->count++] = found;
}

static void take_link(struct list *list, struct nlmsghdr *message) {
  if (message->nlmsg_type != RTM_NEWLINK || message->nlmsg_len < NLMSG_LENGTH(sizeof(struct ifinfomsg))) return;
  struct ifinfomsg *header = NLMSG_DATA(message);
  char name[sizeof list->addresses->interface] = "", kind[sizeof list->addresses->kind] = "";
  int left = (int)IFLA_PAYLOAD(message);
  for (struct rtattr *a = IFLA_RTA(header); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
    if (a->rta_type == IFLA_IFNAME) copy_text(name, sizeof name, a);
    if ((a->rta_type & NLA_TYPE_MASK) != IFLA_LINKINFO) continue;
    int inner = (int)RTA_PAYLOAD(a);
    for (struct rtattr *i = RTA_DATA(a); RTA_OK(i, inner); i = RTA_NEXT(i, inner))
      if (i->rta_type == IFLA_INFO_KIND) copy_text(kind, sizeof kind, i);
  }
  for (int index = 0; index < list->count; index++) {
    otchat_local_address *address = &list->addresses[index];
    if (address->interface_index != header->ifi_index) continue;
    memcpy(address->interface, name, sizeof name);
    memcpy(address->kind, kind, sizeof kind);
    address->is_up = header->ifi_flags & IFF_UP;
    address->is_loopback = header->ifi_flags & IFF_LOOPBACK;
  }
}

static void goes_by(struct list *list, int interface) {
  for (int index = 0; index < list->count; index++)
    if (list->addresses[index].interface_index == interface) list->addresses[index].has_default_route = true;
}

static void take_route(struct list *list, struct nlmsghdr *message) {
  if (message->nlmsg_type != RTM_NEWROUTE || message->nlmsg_len < NLMSG_LENGTH(sizeof(struct rtmsg))) return;
  struct rtmsg *header = NLMSG_DATA(message);
  if (header->rtm_dst_len != 0 || header->rtm_type != RTN_UNICAST) return;
  int left = (int)RTM_PAYLOAD(message);
  for (struct rtattr *a = RTM_RTA(header); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
    if (a->rta_type == RTA_OIF && RTA_PAYLOAD(a) == sizeof(int)) {
      int interface;
      memcpy(&interface, RTA_DATA(a), sizeof interface);
      goes_by(list, interface);
    }
    if (a->rta_type != RTA_MULTIPATH) continue;
    int inner = (int)RTA_PAYLOAD(a);
    for (struct rtnexthop *hop = RTA_DATA(a); inner >= (int)sizeof *hop && RTNH_OK(hop, inner);) {
      goes_by(list, hop->rtnh_ifindex);
      inner -= RTNH_ALIGN(hop->rtnh_len);
      hop = RTNH_NEXT(hop);
    }
  }
}

/// Takes all of one kind, at most some `limit`. False if not even the first has come.
static bool dump(uint16_t type, uint8_t family, int limit, handler take, struct list *list) {
  struct {
    struct nlmsghdr header;
    // As long as the headers of all that is asked for, each of which begins with its family.
    struct ifinfomsg body;
  } request = {
      .header = {.nlmsg_len = sizeof request, .nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
      .body = {.ifi_family = family},
  };
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  char *buffer = malloc(buffer_size);
  // The kernel answers at once; should it not, nothing may wait for it.
  struct timeval patience = {.tv_usec = 200 * 1000};
  bool goes_on = fd >= 0 && buffer && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
                 send(fd, &request, sizeof request, 0) == sizeof request;
  int count = 0;
  bool is_empty = false;
  while (goes_on && count < limit) {
    ssize_t size = recv(fd, buffer, buffer_size, 0);
    unsigned left = size > 0 ? (unsigned)size : 0;
    goes_on = left > 0;
    for (struct nlmsghdr *message = (void *)buffer; NLMSG_OK(message, left); message = NLMSG_NEXT(message, left)) {
      if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR) {
        is_empty = message->nlmsg_type == NLMSG_DONE;
        goes_on = false;
        break;
      }
      take(list, message);
      count++;
    }
  }
  free(buffer);
  if (fd >= 0) close(fd);
  return count > 0 || is_empty;
}

int otchat_local_addresses(otchat_local_address *addresses, int capacity) {
  struct list list = {.addresses = addresses, .capacity = capacity};
  if (!dump(RTM_GETADDR, AF_UNSPEC, maximum_messages, take_address, &list) ||
      !dump(RTM_GETLINK, AF_UNSPEC, maximum_messages, take_link, &list))
    return -1;
  // Without them nothing breaks. IPv4's default routes come before its others, IPv6's after them.
  dump(RTM_GETROUTE, AF_INET, maximum_messages, take_route, &list);
  dump(RTM_GETROUTE, AF_INET6, maximum_messages, take_route, &list);
  return list.count;
}
