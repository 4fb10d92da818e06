#pragma once
#include <glib.h>
#include <glib-object.h>
#include <nice/agent.h>

// A macro, which Swift cannot import.
enum { OTCHAT_G_TYPE_BOOLEAN = G_TYPE_BOOLEAN, OTCHAT_G_TYPE_STRING = G_TYPE_STRING, OTCHAT_G_TYPE_UINT = G_TYPE_UINT };
