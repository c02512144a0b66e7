// The types that code expects wherever `canImport(CoreLocation)` is true. Nothing here measures a location, asks for permission or watches
// regions; raw values are those of Apple's framework.

/// The permission of an app to use location services.
public enum CLAuthorizationStatus: Int32, Sendable {
    case notDetermined = 0
    case restricted = 1
    case denied = 2
    case authorizedAlways = 3
    case authorizedWhenInUse = 4

    /// The earlier name of `authorizedAlways`.
    @available(*, deprecated, renamed: "authorizedAlways")
    public static var authorized: CLAuthorizationStatus { .authorizedAlways }
}

/// The accuracy of locations that a user grants to an app.
public enum CLAccuracyAuthorization: Int, Sendable {
    case fullAccuracy = 0
    case reducedAccuracy = 1
}

/// The activity for which an app follows locations.
public enum CLActivityType: Int, Sendable {
    case other = 1
    case automotiveNavigation = 2
    case fitness = 3
    case otherNavigation = 4
    case airborne = 5
}

/// The physical orientation of a device.
public enum CLDeviceOrientation: Int32, Sendable {
    case unknown = 0
    case portrait = 1
    case portraitUpsideDown = 2
    case landscapeLeft = 3
    case landscapeRight = 4
    case faceUp = 5
    case faceDown = 6
}

/// The position of a device relative to a region.
public enum CLRegionState: Int, Sendable {
    case unknown = 0
    case inside = 1
    case outside = 2
}

/// The distance of a device from a beacon.
public enum CLProximity: Int, Sendable {
    case unknown = 0
    case immediate = 1
    case near = 2
    case far = 3
}
