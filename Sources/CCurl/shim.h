#include <curl/curl.h>
#include <fcntl.h>
#include <sys/socket.h>

#if LIBCURL_VERSION_NUM < 0x075000
#error "Welkin needs libcurl 7.80 or newer: CURLOPT_PREREQFUNCTION tells when a request is about to be sent again"
#endif

// libcurl's setters and getters take any number of arguments of any type, which Swift cannot call. One of each type it can.

typedef size_t (*ccurl_bytes_callback)(char *bytes, size_t size, size_t count, void *owner);
typedef int (*ccurl_progress_callback)(
    void *owner, curl_off_t down_total, curl_off_t down, curl_off_t up_total, curl_off_t up);
typedef int (*ccurl_prerequest_callback)(
    void *owner, char *remote_address, char *local_address, int remote_port, int local_port);

typedef curl_socket_t (*ccurl_socket_callback)(void *owner, curlsocktype purpose, struct curl_sockaddr *address);

static inline CURLcode ccurl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_size(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_pointer(CURL *handle, CURLoption option, const void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_bytes_callback(CURL *handle, CURLoption option, ccurl_bytes_callback value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_progress_callback(CURL *handle, ccurl_progress_callback value) {
    return curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, value);
}

static inline CURLcode ccurl_set_prerequest_callback(CURL *handle, ccurl_prerequest_callback value) {
    return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, value);
}

static inline CURLcode ccurl_set_socket_callback(CURL *handle, ccurl_socket_callback value) {
    return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, value);
}

// The address that libcurl is about to connect to; of the size it says.
static inline const struct sockaddr *ccurl_address(const struct curl_sockaddr *address) {
    return &address->addr;
}

// What libcurl does by itself when nobody asks to be called back.
static inline curl_socket_t ccurl_open_socket(const struct curl_sockaddr *address) {
    curl_socket_t descriptor = socket(address->family, address->socktype, address->protocol);
    if (descriptor != CURL_SOCKET_BAD) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    return descriptor;
}

// Nothing but the web, whatever an address says: libcurl also knows files, mail and more.
static inline CURLcode ccurl_set_web_only(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075500
    return curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    return curl_easy_setopt(handle, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

static inline long ccurl_get_long(CURL *handle, CURLINFO info) {
    long value = 0;
    curl_easy_getinfo(handle, info, &value);
    return value;
}

static inline curl_off_t ccurl_get_size(CURL *handle, CURLINFO info) {
    curl_off_t value = 0;
    curl_easy_getinfo(handle, info, &value);
    return value;
}

static inline CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

// Which handle a message is about, and how its transfer ended; the union in CURLMsg has no name that Swift likes.
static inline CURLcode ccurl_message_result(const CURLMsg *message) {
    return message->data.result;
}
