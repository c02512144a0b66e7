#if canImport(CMalloc)
    import CMalloc
#endif

/// The allocator's handling of freed memory.
enum FreedMemory {
    /// Raises the thresholds above which freed memory is returned to the system.
    ///
    /// glibc returns all but 128 KiB at the end of a thread's heap to the system, and the store's thread allocates that much
    /// with every commit: shrinking and growing took a tenth of a save's processor time.
    static func raiseTrimThreshold() {
        #if canImport(CMalloc)
            _ = mallopt(M_TRIM_THRESHOLD, 4 << 20)
            // Setting the first one disables glibc's adaptation of the second, which begins at 128 KiB, less than a batch of records.
            _ = mallopt(M_MMAP_THRESHOLD, 4 << 20)
        #endif
    }

    /// Returns all freed memory to the system.
    static func release() {
        #if canImport(CMalloc)
            _ = malloc_trim(0)
        #endif
    }
}
