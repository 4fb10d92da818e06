// libxcb, loaded when a screen is first needed: most calls share none. Its few functions speak the protocol's own
// requests (X Window System Protocol, and that of each extension), so no other library of X11's is needed.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// libxcb's, which nobody looks into.
typedef struct xcb_connection_t xcb_connection_t;

typedef enum {
  OTCHAT_X_CORE, OTCHAT_X_COMPOSITE, OTCHAT_X_DAMAGE, OTCHAT_X_FIXES, OTCHAT_X_RANDR, OTCHAT_X_SHM
} otchat_x_extension;

/// Loads the library; until then no other function may be called. NULL, or the reason why it cannot be had. Not from
/// two threads at once.
const char *otchat_x_load(void);

/// A connection, to be given to `otchat_x_close`, whatever became of it; see `otchat_x_failed`.
xcb_connection_t *otchat_x_open(const char *display, int *screen);
void otchat_x_close(xcb_connection_t *connection);
/// Whether there is no connection (any more).
bool otchat_x_failed(xcb_connection_t *connection);
/// Its socket.
int otchat_x_descriptor(xcb_connection_t *connection);
/// What the server said of itself; it belongs to the connection.
const void *otchat_x_setup(xcb_connection_t *connection);
uint32_t otchat_x_new_identifier(xcb_connection_t *connection);

/// Asks for all extensions at once: `otchat_x_first_event` and requests of extensions wait for the answers, unless
/// something that was asked for later has been answered.
void otchat_x_ask_for_extensions(xcb_connection_t *connection);
/// Number of an extension's first event; -1 if the server has not got the extension.
int otchat_x_first_event(xcb_connection_t *connection, otchat_x_extension extension);

/// Sends a request of an extension that is there.
/// `data` is its second byte, which extensions use themselves; `body` is what follows its first four.
/// Returns its number, for `otchat_x_answer`.
uint32_t otchat_x_request(
  xcb_connection_t *connection, otchat_x_extension extension, uint8_t opcode, uint8_t data, const uint32_t *body,
  size_t words, bool is_answered);
/// Waits for the answer, to be freed with `free`; NULL if the server refused, or is gone, or is late.
void *otchat_x_answer(xcb_connection_t *connection, uint32_t request, int milliseconds, bool *is_late);
/// The next event, to be freed with `free`; NULL if none has come. Sends what waits to be sent.
void *otchat_x_event(xcb_connection_t *connection);
