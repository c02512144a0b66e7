import CloudUnderTest
import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// The time that the disk takes to sync.
enum DiskSync {
    /// Returns the median of 200 syncs after overwriting 8 KiB, in seconds.
    static func median(in folder: String) throws -> Double {
        let path = folder + "/sync"
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw BenchError("\(path) cannot be written") }
        defer {
            close(file)
            unlink(path)
        }
        let page = [UInt8](repeating: 7, count: 8192)
        var times: [Double] = []
        for _ in 0...200 {
            guard pwrite(file, page, page.count, 0) == page.count else { throw BenchError("\(path) cannot be written") }
            let start = Moment.now
            #if canImport(Darwin)
                let result = fsync(file)
            #else
                let result = fdatasync(file)
            #endif
            guard result == 0 else { throw BenchError("\(path) cannot be synced") }
            times.append(Moment.now.seconds(since: start))
        }
        // The first one also extended the file.
        return Comparison.median(Array(times.dropFirst()))
    }

    /// Returns the environment variables of a process with slower syncs.
    static func slower(byMicroseconds delay: Int) throws -> [String: String] {
        #if os(Linux)
            let library = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
                .deletingLastPathComponent().appendingPathComponent("libSlowDisk.so").path
            guard FileManager.default.fileExists(atPath: library) else {
                throw BenchError("\(library) is missing; build all products of Benchmarks")
            }
            return ["LD_PRELOAD": library, "SLOW_DISK_MICROSECONDS": String(delay)]
        #else
            throw BenchError("a slower disk is supported on Linux only")
        #endif
    }
}
