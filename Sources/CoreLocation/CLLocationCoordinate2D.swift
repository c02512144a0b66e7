// Constants and functions carry the names that published code spells.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Foundation

/// An angle in degrees: latitude or longitude.
public typealias CLLocationDegrees = Double
/// A length in metres.
public typealias CLLocationDistance = Double
/// The radius of uncertainty in metres; negative: the value it belongs to is not valid.
public typealias CLLocationAccuracy = Double
/// Metres a second; negative: not valid.
public typealias CLLocationSpeed = Double
/// The uncertainty of a speed in metres a second; negative: not valid.
public typealias CLLocationSpeedAccuracy = Double
/// Degrees clockwise from true north, 0 to 359.9; negative: not valid.
public typealias CLLocationDirection = Double
/// The uncertainty of a direction in degrees; negative: not valid.
public typealias CLLocationDirectionAccuracy = Double

/// A place on earth in the WGS 84 reference frame.
public struct CLLocationCoordinate2D: Sendable {
    /// Degrees north of the equator; negative: south.
    public var latitude: CLLocationDegrees
    /// Degrees east of the zero meridian; negative: west.
    public var longitude: CLLocationDegrees

    /// Creates the coordinate 0, 0.
    public init() {
        self.init(latitude: 0, longitude: 0)
    }

    /// Creates a value with the given properties.
    public init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
        self.latitude = latitude
        self.longitude = longitude
    }
}

/// A coordinate that names no place.
public let kCLLocationCoordinate2DInvalid = CLLocationCoordinate2D(latitude: -180, longitude: -180)

/// A distance that means "no filter".
public let kCLDistanceFilterNone: CLLocationDistance = -1

/// The largest distance there is.
public let CLLocationDistanceMax: CLLocationDistance = .greatestFiniteMagnitude

/// Makes a coordinate of two angles in degrees.
public func CLLocationCoordinate2DMake(
    _ latitude: CLLocationDegrees, _ longitude: CLLocationDegrees
) -> CLLocationCoordinate2D {
    CLLocationCoordinate2D(latitude: latitude, longitude: longitude)
}

/// Whether the coordinate names a place: latitude within ±90 and longitude within ±180 degrees.
public func CLLocationCoordinate2DIsValid(_ coord: CLLocationCoordinate2D) -> Bool {
    (-90...90).contains(coord.latitude) && (-180...180).contains(coord.longitude)
}
