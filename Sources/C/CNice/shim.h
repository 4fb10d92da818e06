#pragma once
#include <gio/gio.h>
#include <glib.h>
#include <glib-object.h>
#include <nice/agent.h>
#include <nice/interfaces.h>

// Variadic functions and macros, which Swift cannot import.
static inline void otchat_set_boolean(gpointer object, const char *property, gboolean value) {
  g_object_set(object, property, value, NULL);
}
static inline void otchat_set_uint(gpointer object, const char *property, guint value) {
  g_object_set(object, property, value, NULL);
}
static inline void otchat_set_string(gpointer object, const char *property, const char *value) {
  g_object_set(object, property, value, NULL);
}
static inline void otchat_disconnect_signals(gpointer object, gpointer data) {
  g_signal_handlers_disconnect_by_data(object, data);
}
// A candidate's address as a `struct sockaddr` in `storage`, which has 128 bytes.
static inline void otchat_socket_address(const NiceCandidate *candidate, void *storage) {
  nice_address_copy_to_sockaddr(&candidate->addr, (struct sockaddr *)storage);
}
// The descriptor of the UDP socket that the selected path goes out from; -1 if it is a relay's or TCP.
static inline int otchat_selected_descriptor(NiceAgent *agent, guint stream, guint component) {
  NiceCandidate *local = NULL, *remote = NULL;
  if (!nice_agent_get_selected_pair(agent, stream, component, &local, &remote)) return -1;
  if (local->type == NICE_CANDIDATE_TYPE_RELAYED || local->transport != NICE_CANDIDATE_TRANSPORT_UDP) return -1;
  GSocket *socket = nice_agent_get_selected_socket(agent, stream, component);
  if (!socket) return -1;
  int descriptor = g_socket_get_fd(socket);
  g_object_unref(socket);
  return descriptor;
}
