import Foundation

/// What tells notifications apart; opaque. Compared by value.
///
/// Apps write `CKNotification.ID`; the class stands at top level because a nested one cannot be archived.
public final class CKNotificationID: NSObject, NSCopying, NSSecureCoding, Sendable {
    let text: String

    init(_ text: String) {
        self.text = text
        super.init()
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public override func isEqual(_ object: Any?) -> Bool { (object as? CKNotificationID)?.text == text }

    public override var hash: Int { text.hashValue }

    public override var description: String { "<CKNotificationID: \(addressText(of: self)); \(text)>" }

    public static var supportsSecureCoding: Bool { true }

    private struct Content: Codable {
        var text: String
    }

    public convenience init?(coder: NSCoder) {
        guard let content = Archive.decode(Content.self, from: coder) else { return nil }
        self.init(content.text)
    }

    public func encode(with coder: NSCoder) { Archive.encode(Content(text: text), into: coder) }
}
