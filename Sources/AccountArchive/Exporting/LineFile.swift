import CloudKitDevice
import Crypto
import Foundation
import TextEncodings

/// A file of an export that is written line by line.
struct LineFile: ~Copyable {
    private let path: String
    private let descriptor: Int32
    private var digest = SHA256()
    private var buffer: [UInt8] = []
    private var bytes: Int64 = 0
    private var lines = 0
    private var problems = 0

    /// Creates the file, mode 0600.
    ///
    /// - Parameter path: The path in the folder.
    /// - Throws: `ArchiveError.fileFailed`, also for a file that exists.
    init(_ path: String, in folder: ExportFolder) throws(ArchiveError) {
        self.path = path
        descriptor = open(folder.path + "/" + path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .fileFailed(path: path, FileFailure("create the file", errno)) }
    }

    deinit { close(descriptor) }

    /// Adds a line.
    ///
    /// - Parameters:
    ///   - line: The bytes, without the end of the line.
    ///   - isProblem: Whether it is a record that is incomplete.
    mutating func add(_ line: [UInt8], isProblem: Bool = false) throws(ArchiveError) {
        try add(text: line + [0x0A])
        lines += 1
        if isProblem { problems += 1 }
    }

    /// Adds bytes that are no line of a list.
    mutating func add(text: [UInt8]) throws(ArchiveError) {
        buffer += text
        if buffer.count >= Self.bufferBytes { try flush() }
    }

    /// Writes everything to the disk, and returns what the manifest says of the file.
    mutating func finish() throws(ArchiveError) -> ExportedFile {
        try flush()
        guard fsync(descriptor) == 0 else { throw .fileFailed(path: path, FileFailure("write the file", errno)) }
        return ExportedFile(
            path: path, bytes: bytes, sha256: String(hexadecimal: Array(digest.finalize())), lines: lines,
            problems: problems)
    }

    private mutating func flush() throws(ArchiveError) {
        digest.update(data: buffer)
        bytes += Int64(buffer.count)
        var rest = buffer[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else {
                throw .fileFailed(path: path, FileFailure("write the file", errno))
            }
            if count > 0 { rest = rest.dropFirst(count) }
        }
        buffer.removeAll(keepingCapacity: true)
    }

    private static let bufferBytes = 1 << 18
}
