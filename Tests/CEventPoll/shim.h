// Linux alone has it; the module of the C library does not.
#if defined(__linux__)
#include <sys/epoll.h>
#endif
