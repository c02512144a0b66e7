#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The limit of connections and files that this process may have open.
enum OpenFiles {
    /// Raises the limit to the maximum: a device that waits for notifications keeps a connection open, and the default of many
    /// systems is 1,024.
    static func raiseLimit() {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = limit.rlim_max
        // If this is refused, the limit is unchanged.
        _ = setrlimit(resource, &limit)
    }

    #if canImport(Darwin)
        private static let resource = RLIMIT_NOFILE
    #else
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #endif
}
