import CloudKitModel
import Foundation

/// A file that belongs to a record: its bytes, without name or attributes (B-AST-01).
public final class CKAsset: NSObject, Sendable {
    /// The file: the one to upload, or after a fetch a staged copy that may vanish, so copy it.
    ///
    /// nil in the server's record of a conflict (B-SAV-08).
    public let fileURL: URL?

    /// What the server says about the file; nil for one that was made here.
    let stored: AssetValue?

    public init(fileURL: URL) {
        self.fileURL = fileURL
        self.stored = nil
        super.init()
    }

    /// An asset that the server holds.
    init(stored: AssetValue, fileURL: URL?) {
        self.fileURL = fileURL
        self.stored = stored
        super.init()
    }

    public override var description: String {
        "<CKAsset: \(addressText(of: self)); path=\(fileURL?.path ?? "(null)"), size=\(stored?.size ?? -1)>"
    }
}
