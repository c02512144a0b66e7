#include <stdint.h>

// From <fcntl.h>, which declares it for C only with _GNU_SOURCE, and for Swift not at all.
int sync_file_range(int descriptor, int64_t offset, int64_t count, unsigned int flags);

/// Asks Linux to begin writing a range of a file to the disk, and does not wait for it: a later `fsync` has less left to do.
///
/// A failure has no effect besides: `fsync` reports it.
static inline void begin_writeback(int descriptor, int64_t offset, int64_t count) {
    // SYNC_FILE_RANGE_WRITE
    (void)sync_file_range(descriptor, offset, count, 2);
}
