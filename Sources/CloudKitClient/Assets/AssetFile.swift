import CloudKitDevice
import Foundation

/// An app's file while it is read from front to back (B-AST-05).
///
/// One task reads it at a time: a read goes on where the one before it ended.
final class AssetFile: Sendable {
    /// The file as it was when it was opened.
    let stamp: FileStamp
    private let path: String
    private let descriptor: Int32

    /// - Throws: `CallFailure.assetFileNotFound` when the file does not exist or cannot be read.
    init(_ url: URL?) throws(CallFailure) {
        guard let path = url?.path, url?.isFileURL == true else {
            throw .assetFileNotFound("The asset has no file on this device")
        }
        // Without O_NONBLOCK a pipe would keep the operation waiting for someone to write into it.
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .assetFileNotFound(FileFailure("open the asset's file", errno).description) }
        guard let stamp = FileStamp(descriptor: descriptor), stamp.isRegular else {
            close(descriptor)
            throw .assetFileNotFound("The asset's URL does not name a file")
        }
        self.stamp = stamp
        self.path = path
    }

    deinit { close(descriptor) }

    /// The next bytes: as many as wanted, fewer only at the end.
    ///
    /// - Throws: `CallFailure.assetFileModified` when the file cannot be read on.
    func read(_ wanted: Int) throws(CallFailure) -> [UInt8] {
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, count in
            while count < wanted {
                let got = Foundation.read(descriptor, buffer.baseAddress.map { $0 + count }, wanted - count)
                if got > 0 {
                    count += got
                } else if got == 0 || errno != EINTR {
                    failure = got == 0 ? 0 : errno
                    return
                }
            }
        }
        guard failure == 0 else { throw .assetFileModified(FileFailure("read the asset's file", failure).description) }
        return bytes
    }

    /// Checks that the file is still the one that the app provided.
    ///
    /// - Throws: `CallFailure.assetFileModified` when the file was written to, replaced or removed since.
    func checkUnchanged() throws(CallFailure) {
        guard FileStamp(descriptor: descriptor) == stamp, FileStamp(path: path) == stamp else {
            throw .assetFileModified("The asset's file changed while it was sent")
        }
    }

    /// Goes back to the front.
    func rewind() { lseek(descriptor, 0, SEEK_SET) }

    /// Returns the digest of the whole file. Reads from the beginning and returns there.
    func digest(isSealed: Bool) throws(CallFailure) -> AssetDigest {
        rewind()
        defer { rewind() }
        var digest = AssetDigester(isSealed: isSealed)
        while true {
            let bytes = try read(Self.stepBytes)
            digest.update(bytes)
            if bytes.count < Self.stepBytes { return digest.result }
        }
    }

    /// Bytes of a file that are handled at a time.
    static let stepBytes = 1 << 20
}
