#pragma once
#include <glib.h>
#include <glib-object.h>
#include <glib-unix.h>
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
