import CloudKitModel

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A point of the earth's surface, in degrees.
struct Place: Hashable, Sendable {
    var latitude: Double
    var longitude: Double

    init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }

    init(_ location: LocationValue) {
        self.init(latitude: location.latitude, longitude: location.longitude)
    }

    /// Metres; the mean radius of the earth.
    static let earthRadius = 6_371_008.8

    /// No two places are farther apart, in metres.
    static let farthest = earthRadius * Double.pi + 1

    /// Metres along the great circle; altitude does not count (B-QRY-11).
    func distance(to other: Place) -> Double {
        let halfLatitude = sin(Self.radians(other.latitude - latitude) / 2)
        let halfLongitude = sin(Self.radians(other.longitude - longitude) / 2)
        let across = cos(Self.radians(latitude)) * cos(Self.radians(other.latitude))
        let haversine = halfLatitude * halfLatitude + across * halfLongitude * halfLongitude
        return 2 * Self.earthRadius * asin(min(1, haversine.squareRoot()))
    }

    static func radians(_ degrees: Double) -> Double { degrees * .pi / 180 }
    static func degrees(_ radians: Double) -> Double { radians * 180 / .pi }

    /// The box that holds every place within `distance` metres.
    func box(within distance: Double) -> BoundingBox {
        // Rounding must not cut off points on the rim.
        let angle = distance / Self.earthRadius * (1 + 1e-9) + 1e-9
        let south = Self.radians(latitude) - angle
        let north = Self.radians(latitude) + angle
        guard south > -.pi / 2, north < .pi / 2 else {
            return BoundingBox(
                south: max(-90, Self.degrees(south)), north: min(90, Self.degrees(north)), west: -180, east: 180)
        }
        let half = Self.degrees(asin(min(1, sin(angle) / cos(Self.radians(latitude))))) + 1e-9
        if half >= 180 { return BoundingBox(south: -90, north: 90, west: -180, east: 180) }
        return BoundingBox(
            south: Self.degrees(south), north: Self.degrees(north), west: longitude - half, east: longitude + half)
    }
}

/// A box in degrees; `west` may be below −180 or `east` beyond 180 where the box crosses the date line.
struct BoundingBox: Hashable, Sendable {
    var south, north, west, east: Double

    /// The longitudes of the box, none across the date line.
    var spans: [ClosedRange<Double>] {
        if east - west >= 360 { return [-180...180] }
        if west < -180 { return [-180...east, (west + 360)...180] }
        if east > 180 { return [west...180, -180...(east - 360)] }
        return [west...east]
    }
}
