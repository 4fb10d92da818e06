#pragma once
#include <libwebsockets.h>

// A macro, which Swift cannot import.
enum { OTCHAT_LWS_PRE = LWS_PRE };
