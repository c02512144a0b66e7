import Foundation

/// The floor of a building that a location lies on; 0 is the ground floor.
public final class CLFloor: NSObject, NSCopying, NSSecureCoding, Sendable {
    public let level: Int

    package init(level: Int) {
        self.level = level
        super.init()
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public static var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        guard coder.containsValue(forKey: "level") else { return nil }
        level = coder.decodeInteger(forKey: "level")
        super.init()
    }

    public func encode(with coder: NSCoder) {
        coder.encode(level, forKey: "level")
    }

    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CLFloor)?.level == level
    }

    public override var hash: Int { level.hashValue }
}
