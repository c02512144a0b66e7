import CloudKitDevice
import Foundation

/// A file on its way into the cache, locked against everybody else who fetches it.
///
/// Belongs to the one task that writes it. What that task leaves behind is there for the next one, unless it is discarded.
final class PartialFile {
    let path: String
    private let descriptor: Int32
    private var isDiscarded: Bool

    /// - Parameter isPassing: Whether nobody will look for what is left behind.
    /// - Returns: nil when someone else has it.
    init?(_ path: String, isPassing: Bool) throws(FileFailure) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileFailure("make a file for what is fetched", errno) }
        self.path = path
        self.descriptor = descriptor
        isDiscarded = false
        // Between opening and locking, whoever had it may have put it in its place.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0,
            FileStamp(path: path)?.inode == FileStamp(descriptor: descriptor)?.inode
        else { return nil }
        isDiscarded = isPassing
    }

    deinit {
        if isDiscarded { unlink(path) }
        close(descriptor)
    }

    /// Leaves nothing behind.
    func discard() { isDiscarded = true }

    /// Goes to the end of what an earlier attempt left, as far as that is usable.
    ///
    /// - Parameters:
    ///   - step: Only multiples of this many bytes are.
    ///   - sizeMax: A longer file is none of this.
    ///   - take: Gets what stays.
    func begin(wholeSteps step: Int64, atMost sizeMax: Int64, _ take: ([UInt8]) -> Void) throws(FileFailure) {
        guard let left = FileStamp(descriptor: descriptor)?.size, left <= sizeMax else { return try empty() }
        let size = left / step * step
        guard ftruncate(descriptor, off_t(size)) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
            throw FileFailure("go on with a file", errno)
        }
        var chunk = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = Foundation.read(descriptor, &chunk, chunk.count)
            if count > 0 {
                take(Array(chunk[..<count]))
            } else if count == 0 {
                return
            } else if errno != EINTR {
                throw FileFailure("go on with a file", errno)
            }
        }
    }

    /// Starts over.
    func empty() throws(FileFailure) {
        guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
            throw FileFailure("empty a file", errno)
        }
    }

    /// - Throws: With `ENOSPC` when the disk is full.
    func write(_ bytes: [UInt8]) throws(FileFailure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                throw FileFailure("write a fetched file", errno)
            }
        }
    }

    /// Makes it durable, with these times of access and contents; whoever calls then renames it.
    func finish(whole times: [timespec]) throws(FileFailure) {
        guard fsync(descriptor) == 0, futimens(descriptor, times) == 0 else {
            throw FileFailure("write a fetched file", errno)
        }
        isDiscarded = false
    }
}
