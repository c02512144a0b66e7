import Foundation

/// A point in a change feed; opaque (B-CHG-02). Store it together with the data it covers. Compared by value.
public final class CKServerChangeToken: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The server's token, sent back unchanged.
    let token: String

    init(_ token: String) {
        self.token = token
        super.init()
    }

    /// Returns a copy of the object; an immutable object returns itself.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Returns a Boolean value that indicates whether another object holds the same value.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKServerChangeToken)?.token == token
    }

    /// The hash value of the contents.
    public override var hash: Int { token.hashValue }

    /// Leaves the token out: anyone who has it could read the feed from there.
    public override var description: String {
        "<CKServerChangeToken: \(addressText(of: self)); \(token.utf8.count) bytes>"
    }

    /// A Boolean value that indicates whether the class can be archived securely; always true.
    public static var supportsSecureCoding: Bool { true }

    private struct Content: Codable {
        var token: String
    }

    /// Creates the object from an archive; nil when the archive does not describe one.
    public convenience init?(coder: NSCoder) {
        if let content = Archive.decode(Content.self, from: coder) {
            self.init(content.token)
        } else if let data = ArchivedObject(coder)?.data("ChangeTokenData") {
            // No feed of this cloud knows it: the server answers that it expired, and the app fetches from the
            // beginning (B-CHG-09).
            self.init(data.base64EncodedString())
        } else {
            return nil
        }
    }

    /// Writes the object into an archive.
    public func encode(with coder: NSCoder) {
        Archive.encode(Content(token: token), into: coder)
    }
}
