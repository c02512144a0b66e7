#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The limit of connections and files that this process may have open.
enum OpenFiles {
    /// Raises the limit to the maximum: a device that waits for notifications keeps a connection open, and the default of many
    /// systems is 1,024.
    ///
    /// - Returns: The limit; 1,024 where the system names none.
    static func raiseLimit() -> Int {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 1024 }
        if limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max
            // If this is refused, the limit is unchanged.
            _ = setrlimit(resource, &limit)
            guard getrlimit(resource, &limit) == 0 else { return 1024 }
        }
        return Int(clamping: limit.rlim_cur)
    }

    #if canImport(Darwin)
        private static let resource = RLIMIT_NOFILE
    #else
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #endif
}
