#include <stdint.h>

// From <fcntl.h>, which declares it for C only with _GNU_SOURCE, and for Swift not at all.
int sync_file_range(int descriptor, int64_t offset, int64_t count, unsigned int flags);

/// Asks Linux to begin writing to the disk what a file has that is not there yet, and does not wait for it: a later `fsync` has less left to do.
///
/// - Parameter written: The bytes that were written just now; few are left to `fsync`.
///
/// A failure has no effect besides: `fsync` reports it.
static inline void begin_writeback(int descriptor, int64_t written) {
    if (written < 131072) return;
    // To the end of the file; SYNC_FILE_RANGE_WRITE.
    (void)sync_file_range(descriptor, 0, 0, 2);
}
