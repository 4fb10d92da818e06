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
static const uint64_t OTCHAT_SSL_OP_NO_RENEGOTIATION = SSL_OP_NO_RENEGOTIATION;
static const uint64_t OTCHAT_SSL_OP_NO_TICKET = SSL_OP_NO_TICKET;
static inline long otchat_SSL_set_mtu(SSL *s, long mtu) { return SSL_set_mtu(s, mtu); }
static inline EVP_PKEY *otchat_EVP_EC_gen(const char *curve) { return EVP_EC_gen(curve); }
static inline long otchat_DTLSv1_get_timeout(SSL *s, struct timeval *out) { return DTLSv1_get_timeout(s, out); }
static inline long otchat_DTLSv1_handle_timeout(SSL *s) { return DTLSv1_handle_timeout(s); }
static inline int otchat_SSL_CTX_set_min_proto_version(SSL_CTX *c, int version) {
  return (int)SSL_CTX_set_min_proto_version(c, version);
}
static inline int otchat_SSL_CTX_set1_groups_list(SSL_CTX *c, const char *list) {
  return (int)SSL_CTX_set1_groups_list(c, list);
}
static inline void otchat_SSL_CTX_set_session_cache_off(SSL_CTX *c) {
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
}
static inline void otchat_SSL_set_server_name(SSL *s, const char *name) { SSL_set_tlsext_host_name(s, name); }
static inline void otchat_BIO_reset(BIO *b) { (void)BIO_reset(b); }
// An empty memory BIO means "try again", not "end of file".
static inline void otchat_BIO_retry_when_empty(BIO *b) { BIO_set_mem_eof_return(b, -1); }
