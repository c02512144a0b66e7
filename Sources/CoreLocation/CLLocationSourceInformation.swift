import Foundation

/// The origin of a location: whether software made it, or an accessory.
public final class CLLocationSourceInformation: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// A Boolean value that indicates whether software simulated the location.
    public let isSimulatedBySoftware: Bool
    /// A Boolean value that indicates whether an accessory of the device measured the location.
    public let isProducedByAccessory: Bool

    /// Creates a value with the given properties.
    public init(softwareSimulationState isSoftware: Bool, andExternalAccessoryState isAccessory: Bool) {
        isSimulatedBySoftware = isSoftware
        isProducedByAccessory = isAccessory
        super.init()
    }

    /// Returns the object itself, which is immutable.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Returns a Boolean value that indicates whether another object has the same properties.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CLLocationSourceInformation else { return false }
        return isSimulatedBySoftware == other.isSimulatedBySoftware
            && isProducedByAccessory == other.isProducedByAccessory
    }

    /// The hash value of the properties.
    public override var hash: Int { (isSimulatedBySoftware ? 1 : 0) + (isProducedByAccessory ? 2 : 0) }

    // MARK: Archiving

    /// A Boolean value that indicates whether the class can be archived securely; always true.
    public static var supportsSecureCoding: Bool { true }

    /// Creates the object from an archive; nil when the archive does not describe one.
    public required convenience init?(coder: NSCoder) {
        guard coder.containsValue(forKey: "simulatedBySoftware"), coder.containsValue(forKey: "producedByAccessory")
        else { return nil }
        self.init(
            softwareSimulationState: coder.decodeBool(forKey: "simulatedBySoftware"),
            andExternalAccessoryState: coder.decodeBool(forKey: "producedByAccessory"))
    }

    /// Writes the object into an archive.
    public func encode(with coder: NSCoder) {
        coder.encode(isSimulatedBySoftware, forKey: "simulatedBySoftware")
        coder.encode(isProducedByAccessory, forKey: "producedByAccessory")
    }
}
