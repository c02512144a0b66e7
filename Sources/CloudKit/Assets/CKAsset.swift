import CloudKitClient
import CloudKitDevice
import CloudKitModel
import Foundation
import Synchronization

/// A file that belongs to a record: its bytes, without name or attributes (B-AST-01).
///
/// Files are streamed both ways, encrypted before they leave the device in the private and the shared database; see
/// <doc:Assets>.
public final class CKAsset: NSObject, Sendable {
    /// The file: the one to upload, or after a fetch a staged copy, which the app copies if it keeps it.
    ///
    /// A staged copy exists as long as this object. nil in the server's record of a conflict (B-SAV-08), and in the result
    /// of a save for a file that another device has saved since, when the answer to the first attempt was lost (B-THR-07).
    public let fileURL: URL?

    /// Keeps the staged copy on disk.
    private let staged: StagedFile?
    private let memory: Mutex<Memory>

    /// The known state of the server's copy.
    private struct Memory {
        var kept: UploadedAsset?
        /// The app's file as it was when that copy was made; nil for an asset that was fetched.
        var sent: FileStamp?
        /// The app's file as it was when it was last sent; whether the server keeps it is not known yet.
        var sending: FileStamp?
        /// The file of the server of which a copy is to be made; nil once it was.
        var imported: ImportedAsset?
    }

    /// Creates an asset from a file.
    ///
    /// - Parameter fileURL: The URL of a file that exists until the record is saved.
    public init(fileURL: URL) {
        self.fileURL = fileURL
        staged = nil
        memory = Mutex(Memory())
        super.init()
    }

    /// An asset that the server holds.
    ///
    /// - Parameter file: Its contents; nil where they were not fetched.
    init(_ kept: UploadedAsset, file: StagedFile? = nil) {
        fileURL = file.map { URL(fileURLWithPath: $0.path) }
        staged = file
        memory = Mutex(Memory(kept: kept))
        super.init()
    }

    /// Creates an asset that the server holds and whose contents are in a file of the app.
    init(_ kept: UploadedAsset, contentsOf asset: CKAsset) {
        fileURL = asset.fileURL
        staged = asset.staged
        let known = asset.memory.withLock { $0 }
        memory = Mutex(Memory(kept: kept, sent: known.sending ?? known.sent))
        super.init()
    }

    /// An asset out of an archive.
    init(_ kept: UploadedAsset?, archivedAt path: String?) {
        fileURL = path.map { URL(fileURLWithPath: $0) }
        staged = nil
        memory = Mutex(Memory(kept: kept))
        super.init()
    }

    /// An asset that is to be copied by the server.
    init(importing asset: ImportedAsset) {
        fileURL = nil
        staged = nil
        memory = Mutex(Memory(imported: asset))
        super.init()
    }

    /// The file of the server of which a copy is to be made.
    package var imported: ImportedAsset? { memory.withLock { $0.imported } }

    /// The server's copy of this asset, if the file is still the one that was sent; nil: it has to be sent.
    package var kept: UploadedAsset? {
        let memory = memory.withLock { $0 }
        guard let sent = memory.sent else { return memory.kept }
        return fileURL.flatMap { FileStamp(path: $0.path) } == sent ? memory.kept : nil
    }

    /// The server's copy of this asset when it was last fetched or saved, whatever happened to the app's file.
    var lastKept: UploadedAsset? { memory.withLock { $0.kept } }

    /// Notes that the app's file is on its way.
    package func note(sending stamp: FileStamp) {
        memory.withLock { $0.sending = stamp }
    }

    /// Records that a save succeeded: the server holds the file at that position.
    ///
    /// An asset that was fetched keeps the position that it was fetched from, also when it was set in another record.
    func note(saved kept: UploadedAsset) {
        memory.withLock { memory in
            let sent = memory.sending ?? memory.sent
            if memory.imported != nil, memory.kept == nil {
                memory = Memory(kept: kept)
                return
            }
            guard sent != nil || memory.kept?.place.record == kept.place.record else { return }
            memory = Memory(kept: kept, sent: sent)
        }
    }

    /// A textual form of the value, for logs and debugging.
    public override var description: String {
        "<CKAsset: \(addressText(of: self)); path=\(fileURL?.path ?? "(null)"), size=\(lastKept?.value.size ?? -1)>"
    }
}
