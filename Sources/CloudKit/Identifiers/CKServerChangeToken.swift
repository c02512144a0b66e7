import Foundation

/// A point in a change feed; opaque (B-CHG-02). Store it together with the data it covers. Compared by value.
public final class CKServerChangeToken: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// What the server wrote, given back to it as it is.
    let token: String

    init(_ token: String) {
        self.token = token
        super.init()
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKServerChangeToken)?.token == token
    }

    public override var hash: Int { token.hashValue }

    /// Without the token: whoever has one could read the feed from there.
    public override var description: String {
        "<CKServerChangeToken: \(addressText(of: self)); \(token.utf8.count) bytes>"
    }

    public static var supportsSecureCoding: Bool { true }

    private struct Content: Codable {
        var token: String
    }

    public convenience init?(coder: NSCoder) {
        if let content = Archive.decode(Content.self, from: coder) {
            self.init(content.token)
        } else if let data = AppleArchive(coder).object(NSData.self, "ChangeTokenData") {
            // No feed of ours knows it: the server answers that it expired, and the app fetches anew (B-CHG-09).
            self.init((data as Data).base64EncodedString())
        } else {
            return nil
        }
    }

    public func encode(with coder: NSCoder) {
        Archive.encode(Content(token: token), into: coder)
    }
}
