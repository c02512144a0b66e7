import Foundation

/// The storey of a building that a location is on; 0 is the ground.
public final class CLFloor: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The level; 0 is the ground.
    public let level: Int

    /// Creates a value with the given properties.
    package init(level: Int) {
        self.level = level
        super.init()
    }

    /// Returns the object itself, which is immutable.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// A Boolean value that indicates whether the class can be archived securely; always true.
    public static var supportsSecureCoding: Bool { true }

    /// Creates the object from an archive; nil when the archive does not describe one.
    public required init?(coder: NSCoder) {
        guard coder.containsValue(forKey: "level") else { return nil }
        level = coder.decodeInteger(forKey: "level")
        super.init()
    }

    /// Writes the object into an archive.
    public func encode(with coder: NSCoder) {
        coder.encode(level, forKey: "level")
    }

    /// Returns a Boolean value that indicates whether another object has the same level.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CLFloor)?.level == level
    }

    /// The hash value of the level.
    public override var hash: Int { level.hashValue }
}
