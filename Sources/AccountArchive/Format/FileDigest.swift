import CloudKitDevice
import Crypto
import Foundation
import TextEncodings

/// The length and SHA-256 of a file, read in pieces.
struct FileDigest: Hashable {
    var bytes: Int64 = 0
    var sha256: String

    /// - Throws: `ArchiveError.fileFailed`.
    init(_ path: String) throws(ArchiveError) {
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw .fileFailed(path: path, FileFailure("open the file", errno))
        }
        defer { try? file.close() }
        var digest = SHA256()
        do {
            while let piece = try file.read(upToCount: Self.pieceBytes), !piece.isEmpty {
                digest.update(data: piece)
                bytes += Int64(piece.count)
            }
        } catch {
            throw .fileFailed(path: path, FileFailure("read the file", errno))
        }
        sha256 = String(hexadecimal: Array(digest.finalize()))
    }

    private static let pieceBytes = 1 << 20
}
