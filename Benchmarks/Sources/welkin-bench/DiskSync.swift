import CloudUnderTest
import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// How long the disk takes to keep what it was given.
enum DiskSync {
    /// Seconds for a sync after 8 KiB were written over, the median of 200.
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
        // The first also made the file longer.
        return Comparison.median(Array(times.dropFirst()))
    }

    /// Variables for a process whose syncs are to take longer.
    static func slower(byMicroseconds delay: Int) throws -> [String: String] {
        #if os(Linux)
            let library = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
                .deletingLastPathComponent().appendingPathComponent("libSlowDisk.so").path
            guard FileManager.default.fileExists(atPath: library) else {
                throw BenchError("\(library) is missing; build all products of Benchmarks")
            }
            return ["LD_PRELOAD": library, "SLOW_DISK_MICROSECONDS": String(delay)]
        #else
            throw BenchError("a slower disk can be had on Linux only")
        #endif
    }
}
