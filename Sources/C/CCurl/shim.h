#pragma once
#include <curl/curl.h>

// curl_easy_setopt and curl_easy_getinfo are variadic, which Swift cannot import.
static inline CURLcode otchat_curl_set_long(CURL *c, CURLoption o, long v) { return curl_easy_setopt(c, o, v); }
static inline CURLcode otchat_curl_set_string(CURL *c, CURLoption o, const char *v) { return curl_easy_setopt(c, o, v); }
static inline CURLcode otchat_curl_set_pointer(CURL *c, CURLoption o, const void *v) { return curl_easy_setopt(c, o, v); }
static inline CURLcode otchat_curl_set_write(CURL *c, curl_write_callback f, void *user) {
  CURLcode r = curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, f);
  return r == CURLE_OK ? curl_easy_setopt(c, CURLOPT_WRITEDATA, user) : r;
}
static inline CURLcode otchat_curl_set_progress(CURL *c, curl_xferinfo_callback f, void *user) {
  CURLcode r = curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, f);
  if (r == CURLE_OK) r = curl_easy_setopt(c, CURLOPT_XFERINFODATA, user);
  return r == CURLE_OK ? curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L) : r;
}
static inline CURLcode otchat_curl_get_long(CURL *c, CURLINFO i, long *v) { return curl_easy_getinfo(c, i, v); }
static inline CURLcode otchat_curl_get_string(CURL *c, CURLINFO i, const char **v) { return curl_easy_getinfo(c, i, v); }
