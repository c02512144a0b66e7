import CoreLocation
import Foundation

/// An order by the distance of a location field from a place, nearest first; altitudes do not count (B-QRY-11).
public final class CKLocationSortDescriptor: NSSortDescriptor, NSSecureCoding {
    let sortKey: String
    /// The place that distances are measured from.
    public let relativeLocation: CLLocation

    /// Creates a descriptor that sorts records by the distance of a location field from a location, nearest first.
    public init(key: String, relativeLocation: CLLocation) {
        sortKey = key
        self.relativeLocation = relativeLocation
        super.init(keyPath: \CKRecord.[field: key], ascending: true) { left, right in
            let distances = [left, right].map { ($0 as? CLLocation)?.distance(from: relativeLocation) ?? .infinity }
            return distances[0] < distances[1]
                ? .orderedAscending : distances[0] > distances[1] ? .orderedDescending : .orderedSame
        }
    }

    /// Returns a copy of the object; an immutable object returns itself.
    public override func copy(with zone: NSZone? = nil) -> Any { self }

    /// Returns a Boolean value that indicates whether another object holds the same value.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKLocationSortDescriptor else { return false }
        return sortKey == other.sortKey && relativeLocation.isEqual(other.relativeLocation)
    }

    /// The hash value of the contents.
    public override var hash: Int { sortKey.hashValue }

    // MARK: Archiving

    /// A Boolean value that indicates whether the class can be archived securely; always true.
    public static var supportsSecureCoding: Bool { true }

    /// - Note: An archive without a descriptor in it gives one by an empty key, which a query refuses.
    public convenience init(coder aDecoder: NSCoder) {
        let term = Archive.decode(SortDescriptorTerm.self, from: aDecoder)
        if term?.key == nil || term?.relativeLocation == nil { Archive.fail(aDecoder) }
        self.init(
            key: term?.key ?? "", relativeLocation: term?.relativeLocation ?? CLLocation(latitude: 0, longitude: 0))
    }

    /// Writes the object into an archive.
    public func encode(with coder: NSCoder) {
        Archive.encode(SortDescriptorTerm(self), into: coder)
    }
}
