#include "CXCB.h"
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

// As in xcb/xcb.h and xcb/xcbext.h, which have not changed since 2006.
typedef struct {
  const char *name;
  int global_id;
} xcb_extension_t;

typedef struct {
  size_t count;
  xcb_extension_t *extension;
  uint8_t opcode;
  uint8_t is_void;
} xcb_protocol_request_t;

typedef struct {
  uint8_t type, pad;
  uint16_t sequence;
  uint32_t length;
  uint8_t present, major_opcode, first_event, first_error;
} xcb_query_extension_reply_t;

enum { XCB_REQUEST_CHECKED = 1 };

static struct {
  xcb_connection_t *(*connect)(const char *, int *);
  void (*disconnect)(xcb_connection_t *);
  int (*connection_has_error)(xcb_connection_t *);
  int (*get_file_descriptor)(xcb_connection_t *);
  const void *(*get_setup)(xcb_connection_t *);
  uint32_t (*generate_id)(xcb_connection_t *);
  int (*flush)(xcb_connection_t *);
  void *(*poll_for_event)(xcb_connection_t *);
  const xcb_query_extension_reply_t *(*get_extension_data)(xcb_connection_t *, xcb_extension_t *);
  unsigned int (*send_request)(xcb_connection_t *, int, struct iovec *, const xcb_protocol_request_t *);
  int (*poll_for_reply)(xcb_connection_t *, unsigned int, void **, void **);
  void (*prefetch_extension_data)(xcb_connection_t *, xcb_extension_t *);
} xcb;

static xcb_extension_t extensions[] = {
  [OTCHAT_X_COMPOSITE] = {"Composite", 0}, [OTCHAT_X_DAMAGE] = {"DAMAGE", 0}, [OTCHAT_X_FIXES] = {"XFIXES", 0},
  [OTCHAT_X_RANDR] = {"RANDR", 0}, [OTCHAT_X_SHM] = {"MIT-SHM", 0},
};

const char *otchat_x_load(void) {
  void *library = dlopen("libxcb.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return dlerror();
#define FIND(name) \
  if (!(xcb.name = dlsym(library, "xcb_" #name))) return dlerror();
  FIND(connect)
  FIND(disconnect)
  FIND(connection_has_error)
  FIND(get_file_descriptor)
  FIND(get_setup)
  FIND(generate_id)
  FIND(flush)
  FIND(poll_for_event)
  FIND(get_extension_data)
  FIND(send_request)
  FIND(poll_for_reply)
  FIND(prefetch_extension_data)
  return NULL;
}

// libxcb writes to a socket whose server may have died, and the signal that then comes would end the process; what it
// does to the process is not a library's to say. It is for the thread that writes: blocked meanwhile, it is taken back.
typedef struct {
  sigset_t pipe, before;
  bool was_pending;
} quiet_t;

static quiet_t begin_quietly(void) {
  quiet_t quiet;
  sigset_t pending;
  sigemptyset(&quiet.pipe);
  sigaddset(&quiet.pipe, SIGPIPE);
  quiet.was_pending = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &quiet.pipe, &quiet.before);
  return quiet;
}

static void end_quietly(const quiet_t *quiet) {
  const struct timespec at_once = {0, 0};
  if (!quiet->was_pending) sigtimedwait(&quiet->pipe, NULL, &at_once);
  pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
}

xcb_connection_t *otchat_x_open(const char *display, int *screen) {
  quiet_t quiet = begin_quietly();
  xcb_connection_t *connection = xcb.connect(display, screen);
  end_quietly(&quiet);
  return connection;
}

void otchat_x_close(xcb_connection_t *connection) {
  quiet_t quiet = begin_quietly();
  xcb.disconnect(connection);
  end_quietly(&quiet);
}

bool otchat_x_failed(xcb_connection_t *connection) { return xcb.connection_has_error(connection) != 0; }
int otchat_x_descriptor(xcb_connection_t *connection) { return xcb.get_file_descriptor(connection); }
const void *otchat_x_setup(xcb_connection_t *connection) { return xcb.get_setup(connection); }

uint32_t otchat_x_new_identifier(xcb_connection_t *connection) {
  quiet_t quiet = begin_quietly();
  uint32_t identifier = xcb.generate_id(connection);
  end_quietly(&quiet);
  return identifier;
}

void otchat_x_ask_for_extensions(xcb_connection_t *connection) {
  quiet_t quiet = begin_quietly();
  for (size_t index = 0; index < sizeof extensions / sizeof *extensions; index++) {
    if (extensions[index].name) xcb.prefetch_extension_data(connection, &extensions[index]);
  }
  end_quietly(&quiet);
}

int otchat_x_first_event(xcb_connection_t *connection, otchat_x_extension extension) {
  quiet_t quiet = begin_quietly();
  const xcb_query_extension_reply_t *data = xcb.get_extension_data(connection, &extensions[extension]);
  end_quietly(&quiet);
  return data && data->present ? data->first_event : -1;
}

uint32_t otchat_x_request(
  xcb_connection_t *connection, otchat_x_extension extension, uint8_t opcode, uint8_t data, const uint32_t *body,
  size_t words, bool is_answered
) {
  uint8_t head[4] = {0, data, 0, 0};
  // libxcb uses two places before those that it is given.
  struct iovec parts[4] = {
    {NULL, 0}, {NULL, 0}, {head, sizeof head}, {(void *)body, words * sizeof *body},
  };
  xcb_protocol_request_t request = {
    .count = 2, .extension = extension == OTCHAT_X_CORE ? NULL : &extensions[extension], .opcode = opcode,
    .is_void = !is_answered,
  };
  quiet_t quiet = begin_quietly();
  uint32_t number = xcb.send_request(connection, is_answered ? XCB_REQUEST_CHECKED : 0, parts + 2, &request);
  end_quietly(&quiet);
  return number;
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

void *otchat_x_answer(xcb_connection_t *connection, uint32_t request, int milliseconds, bool *is_late) {
  const int64_t end = now() + milliseconds;
  quiet_t quiet = begin_quietly();
  xcb.flush(connection);
  void *answer = NULL, *error = NULL;
  *is_late = false;
  while (!*is_late && !xcb.poll_for_reply(connection, request, &answer, &error)) {
    const int64_t left = end - now();
    struct pollfd one = {xcb.get_file_descriptor(connection), POLLIN, 0};
    if (left > 0) poll(&one, 1, (int)left);
    *is_late = left <= 0;
  }
  end_quietly(&quiet);
  free(error);
  return answer;
}

void *otchat_x_event(xcb_connection_t *connection) {
  quiet_t quiet = begin_quietly();
  xcb.flush(connection);
  void *event = xcb.poll_for_event(connection);
  end_quietly(&quiet);
  return event;
}
