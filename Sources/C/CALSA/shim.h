#pragma once
#include <alsa/asoundlib.h>

// A variadic callback, which Swift cannot write: without it ALSA tells standard error of every device that is not there.
static inline void otchat_alsa_ignore(const char *file, int line, const char *function, int error, const char *format, ...) {}
static inline void otchat_alsa_be_quiet(void) { snd_lib_error_set_handler(otchat_alsa_ignore); }
