#if canImport(CMalloc)
    import CMalloc
#endif

/// What becomes of memory that the process has let go of.
enum FreedMemory {
    /// Keeps a little of it at hand on every thread.
    ///
    /// glibc gives all but 128 KiB at the end of a thread's heap back to the system, and the store's thread asks for that much
    /// with every commit: a tenth of a save's processor time went into shrinking and growing.
    static func keepSomeAtHand() {
        #if canImport(CMalloc)
            _ = mallopt(M_TRIM_THRESHOLD, 4 << 20)
            // Naming the one stops glibc from adapting the other, which begins at 128 KiB, less than a batch of records.
            _ = mallopt(M_MMAP_THRESHOLD, 4 << 20)
        #endif
    }
}
