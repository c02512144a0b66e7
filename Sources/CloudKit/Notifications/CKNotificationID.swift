import Foundation

/// The identifier of a notification; opaque, and compared by value.
///
/// Apps write `CKNotification.ID`; the class is at top level because a nested one cannot be archived.
public final class CKNotificationID: NSObject, NSCopying, NSSecureCoding, Sendable {
    let text: String

    init(_ text: String) {
        self.text = text
        super.init()
    }

    /// Returns a copy of the object; an immutable object returns itself.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Returns a Boolean value that indicates whether another object holds the same value.
    public override func isEqual(_ object: Any?) -> Bool { (object as? CKNotificationID)?.text == text }

    /// The hash value of the contents.
    public override var hash: Int { text.hashValue }

    /// A textual form of the value, for logs and debugging.
    public override var description: String { "<CKNotificationID: \(addressText(of: self)); \(text)>" }

    /// A Boolean value that indicates whether the class can be archived securely; always true.
    public static var supportsSecureCoding: Bool { true }

    private struct Content: Codable {
        var text: String
    }

    /// Creates the object from an archive; nil when the archive does not describe one.
    public convenience init?(coder: NSCoder) {
        guard let content = Archive.decode(Content.self, from: coder) else { return nil }
        self.init(content.text)
    }

    /// Writes the object into an archive.
    public func encode(with coder: NSCoder) { Archive.encode(Content(text: text), into: coder) }
}
