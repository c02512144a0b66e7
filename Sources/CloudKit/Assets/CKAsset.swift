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
    /// The file: the one to upload, or after a fetch a staged copy, so copy it.
    ///
    /// A staged copy lives as long as this object. nil in the server's record of a conflict (B-SAV-08).
    public let fileURL: URL?

    /// Keeps the staged copy on disk.
    private let staged: StagedFile?
    private let memory: Mutex<Memory>

    /// What is known of the server's copy.
    private struct Memory {
        var kept: KeptAsset?
        /// The app's file as it was when that copy was made; nil for an asset that was fetched.
        var sent: FileStamp?
        /// The app's file as it was when it was last sent; whether the server keeps it is not known yet.
        var sending: FileStamp?
    }

    public init(fileURL: URL) {
        self.fileURL = fileURL
        staged = nil
        memory = Mutex(Memory())
        super.init()
    }

    /// An asset that the server holds.
    ///
    /// - Parameter file: Its contents; nil where they were not fetched.
    init(_ kept: KeptAsset, file: StagedFile? = nil) {
        fileURL = file.map { URL(fileURLWithPath: $0.path) }
        staged = file
        memory = Mutex(Memory(kept: kept))
        super.init()
    }

    /// An asset that the server holds, and whose contents lie in a file of the app.
    init(_ kept: KeptAsset, contentsOf asset: CKAsset) {
        fileURL = asset.fileURL
        staged = asset.staged
        let known = asset.memory.withLock { $0 }
        memory = Mutex(Memory(kept: kept, sent: known.sending ?? known.sent))
        super.init()
    }

    /// An asset out of an archive.
    init(_ kept: KeptAsset?, archivedAt path: String?) {
        fileURL = path.map { URL(fileURLWithPath: $0) }
        staged = nil
        memory = Mutex(Memory(kept: kept))
        super.init()
    }

    /// What the server holds of this asset, if the file is still the one it was sent from; nil: it has to be sent.
    package var kept: KeptAsset? {
        let memory = memory.withLock { $0 }
        guard let sent = memory.sent else { return memory.kept }
        return fileURL.flatMap { FileStamp(path: $0.path) } == sent ? memory.kept : nil
    }

    /// What the server held of this asset when it was last fetched or saved, whatever became of the app's file.
    var lastKept: KeptAsset? { memory.withLock { $0.kept } }

    /// Notes that the app's file is on its way.
    package func note(sending stamp: FileStamp) {
        memory.withLock { $0.sending = stamp }
    }

    /// Notes that a save was answered: the server holds the file in that place.
    ///
    /// An asset that was fetched stands for the place it was fetched from, also when it was set in another record.
    func note(saved kept: KeptAsset) {
        memory.withLock { memory in
            let sent = memory.sending ?? memory.sent
            guard sent != nil || memory.kept?.place.record == kept.place.record else { return }
            memory = Memory(kept: kept, sent: sent)
        }
    }

    public override var description: String {
        "<CKAsset: \(addressText(of: self)); path=\(fileURL?.path ?? "(null)"), size=\(lastKept?.value.size ?? -1)>"
    }
}
