#pragma once
#include <libwebsockets.h>

// Macros and flags, which Swift cannot import.
enum { OTCHAT_LWS_PRE = LWS_PRE };
static const uint64_t OTCHAT_LWS_OPTION_TLS = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
static const uint64_t OTCHAT_LWS_OPTION_REDIRECT_TO_TLS =
    LWS_SERVER_OPTION_ALLOW_NON_SSL_ON_SSL_PORT | LWS_SERVER_OPTION_REDIRECT_HTTP_TO_HTTPS;
static const uint64_t OTCHAT_LWS_OPTION_NO_SYSTEM_STATES = LWS_SERVER_OPTION_NO_LWS_SYSTEM_STATES;
static const long OTCHAT_TLS_1_2_AND_UP = SSL_OP_NO_TLSv1 | SSL_OP_NO_TLSv1_1;

/// Closes a connection at the next turn of the service loop, without a Close frame.
static inline void otchat_lws_kill(struct lws *wsi) {
  lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
}
