#define _GNU_SOURCE
#include "slow_disk.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

static int (*sync_of_the_system)(int);
static struct timespec delay;

/// Reads the delay before the program has threads.
__attribute__((constructor)) static void prepare(void) {
    const char *named = getenv("SLOW_DISK_MICROSECONDS");
    long microseconds = named ? atol(named) : 0;
    if (microseconds < 0) microseconds = 0;
    delay.tv_sec = microseconds / 1000000;
    delay.tv_nsec = microseconds % 1000000 * 1000;
    sync_of_the_system = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
}

int fdatasync(int descriptor) {
    if (!sync_of_the_system) {
        errno = ENOSYS;
        return -1;
    }
    int result = sync_of_the_system(descriptor);
    int error = errno;
    struct timespec left = delay;
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
    errno = error;
    return result;
}
