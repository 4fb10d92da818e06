#pragma once
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/srtp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// Macros, which Swift cannot import.
static const uint64_t OTCHAT_SSL_OP_NO_QUERY_MTU = SSL_OP_NO_QUERY_MTU;
static inline long otchat_SSL_set_mtu(SSL *s, long mtu) { return SSL_set_mtu(s, mtu); }
static inline EVP_PKEY *otchat_EVP_EC_gen(const char *curve) { return EVP_EC_gen(curve); }
static inline long otchat_DTLSv1_get_timeout(SSL *s, struct timeval *out) { return DTLSv1_get_timeout(s, out); }
static inline long otchat_DTLSv1_handle_timeout(SSL *s) { return DTLSv1_handle_timeout(s); }
