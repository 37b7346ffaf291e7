#include <curl/curl.h>

// Swift cannot call variadic C functions: one wrapper for each kind of option value, and no logic.

static inline CURLcode tm_setopt_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode tm_setopt_offset(CURL *easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode tm_setopt_text(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode tm_setopt_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode tm_setopt_list(CURL *easy, CURLoption option, struct curl_slist *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode tm_setopt_data_callback(CURL *easy, CURLoption option, curl_write_callback value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode tm_setopt_prereq_callback(CURL *easy, curl_prereq_callback value) {
  return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, value);
}

static inline CURLcode tm_setopt_seek_callback(CURL *easy, curl_seek_callback value) {
  return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, value);
}

static inline CURLcode tm_setopt_progress_callback(CURL *easy, curl_xferinfo_callback value) {
  return curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, value);
}

static inline CURLMcode tm_multi_setopt_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

static inline CURLcode tm_getinfo_long(CURL *easy, CURLINFO info, long *value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode tm_getinfo_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode tm_getinfo_socket(CURL *easy, curl_socket_t *value) {
  return curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, value);
}
