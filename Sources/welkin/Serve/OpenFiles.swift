#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// How many connections and files the system lets this process have open.
enum OpenFiles {
    /// Raises the limit as far as the system allows: a device that waits for notifications keeps a connection open, and many
    /// systems begin with 1,024.
    static func raiseLimit() {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = limit.rlim_max
        // Refused, it stays as it was.
        _ = setrlimit(resource, &limit)
    }

    #if canImport(Darwin)
        private static let resource = RLIMIT_NOFILE
    #else
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #endif
}
