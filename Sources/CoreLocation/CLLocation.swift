import Foundation

/// A place on earth with the accuracy, motion and time of its measurement.
///
/// Only latitude and longitude are always there; a negative accuracy, course or speed means "not known".
public final class CLLocation: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The position on earth.
    public let coordinate: CLLocationCoordinate2D
    /// Metres above sea level.
    public let altitude: CLLocationDistance
    /// Radius of uncertainty of the coordinate, metres.
    public let horizontalAccuracy: CLLocationAccuracy
    /// Uncertainty of the altitude, metres; negative: the altitude is not valid.
    public let verticalAccuracy: CLLocationAccuracy
    /// Direction of travel, degrees clockwise from true north; negative: not valid.
    public let course: CLLocationDirection
    /// The accuracy of the course in degrees; negative if unknown.
    public let courseAccuracy: CLLocationDirectionAccuracy
    /// Metres a second; negative: not valid.
    public let speed: CLLocationSpeed
    /// The accuracy of the speed in metres per second; negative if unknown.
    public let speedAccuracy: CLLocationSpeedAccuracy
    /// The time of the measurement.
    public let timestamp: Date
    /// The origin of the location; nil: not known. It is neither saved in records nor archived.
    public let sourceInformation: CLLocationSourceInformation?

    /// Metres above the WGS 84 ellipsoid. Without a geoid model this is the altitude.
    public var ellipsoidalAltitude: CLLocationDistance { altitude }

    /// The storey of the building; always nil, since nothing here measures one.
    public var floor: CLFloor? { nil }

    /// Creates a location of a position alone, measured now.
    public convenience init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
        self.init(
            coordinate: CLLocationCoordinate2D(latitude: latitude, longitude: longitude), altitude: 0,
            horizontalAccuracy: 0, verticalAccuracy: -1, timestamp: Date())
    }

    /// Creates a location with altitude and accuracies.
    public convenience init(
        coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance,
        horizontalAccuracy hAccuracy: CLLocationAccuracy,
        verticalAccuracy vAccuracy: CLLocationAccuracy, timestamp: Date
    ) {
        self.init(
            coordinate: coordinate, altitude: altitude, horizontalAccuracy: hAccuracy, verticalAccuracy: vAccuracy,
            course: -1, speed: -1, timestamp: timestamp)
    }

    /// Creates a location with course and speed.
    public convenience init(
        coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance,
        horizontalAccuracy hAccuracy: CLLocationAccuracy,
        verticalAccuracy vAccuracy: CLLocationAccuracy, course: CLLocationDirection, speed: CLLocationSpeed,
        timestamp: Date
    ) {
        self.init(
            coordinate: coordinate, altitude: altitude, horizontalAccuracy: hAccuracy, verticalAccuracy: vAccuracy,
            course: course, courseAccuracy: -1, speed: speed, speedAccuracy: -1, timestamp: timestamp)
    }

    /// Creates a location with all of its numbers.
    public convenience init(
        coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance,
        horizontalAccuracy hAccuracy: CLLocationAccuracy,
        verticalAccuracy vAccuracy: CLLocationAccuracy, course: CLLocationDirection,
        courseAccuracy: CLLocationDirectionAccuracy, speed: CLLocationSpeed, speedAccuracy: CLLocationSpeedAccuracy,
        timestamp: Date
    ) {
        self.init(
            coordinate: coordinate, altitude: altitude, horizontalAccuracy: hAccuracy, verticalAccuracy: vAccuracy,
            course: course, courseAccuracy: courseAccuracy, speed: speed, speedAccuracy: speedAccuracy,
            timestamp: timestamp, origin: nil)
    }

    /// Creates a location with all of its properties.
    public convenience init(
        coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance,
        horizontalAccuracy hAccuracy: CLLocationAccuracy,
        verticalAccuracy vAccuracy: CLLocationAccuracy, course: CLLocationDirection,
        courseAccuracy: CLLocationDirectionAccuracy, speed: CLLocationSpeed, speedAccuracy: CLLocationSpeedAccuracy,
        timestamp: Date, sourceInfo: CLLocationSourceInformation
    ) {
        self.init(
            coordinate: coordinate, altitude: altitude, horizontalAccuracy: hAccuracy, verticalAccuracy: vAccuracy,
            course: course, courseAccuracy: courseAccuracy, speed: speed, speedAccuracy: speedAccuracy,
            timestamp: timestamp, origin: sourceInfo)
    }

    private init(
        coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance, horizontalAccuracy hAccuracy: Double,
        verticalAccuracy vAccuracy: Double, course: Double, courseAccuracy: Double, speed: Double,
        speedAccuracy: Double, timestamp: Date, origin: CLLocationSourceInformation?
    ) {
        sourceInformation = origin
        self.coordinate = coordinate
        self.altitude = altitude
        self.horizontalAccuracy = hAccuracy
        self.verticalAccuracy = vAccuracy
        self.course = course
        self.courseAccuracy = courseAccuracy
        self.speed = speed
        self.speedAccuracy = speedAccuracy
        self.timestamp = timestamp
        super.init()
    }

    /// The distance to another location in metres, along the earth's curve; altitudes do not count (B-QRY-11).
    public func distance(from location: CLLocation) -> CLLocationDistance {
        // Haversine: exact enough for near points, where the law of cosines loses its digits.
        let latitude = coordinate.latitude * .pi / 180
        let otherLatitude = location.coordinate.latitude * .pi / 180
        let latitudeHalf = sin((otherLatitude - latitude) / 2)
        let longitudeHalf = sin((location.coordinate.longitude - coordinate.longitude) * .pi / 360)
        let chord =
            latitudeHalf * latitudeHalf + cos(latitude) * cos(otherLatitude) * longitudeHalf * longitudeHalf
        return 2 * Self.earthRadius * asin(min(1, chord.squareRoot()))
    }

    /// The mean radius of the earth in metres.
    private static let earthRadius = 6_371_008.8

    // MARK: Copying and comparing

    /// Returns the object itself, which is immutable.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Returns a Boolean value that indicates whether another object is the same location.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CLLocation else { return false }
        return self === other || numbers == other.numbers
    }

    /// The hash value of position and time.
    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(coordinate.latitude)
        hasher.combine(coordinate.longitude)
        hasher.combine(timestamp)
        return hasher.finalize()
    }

    /// A textual form of the value, for logs and debugging.
    public override var description: String {
        "<\(coordinate.latitude),\(coordinate.longitude)> +/- \(horizontalAccuracy)m "
            + "(speed \(speed) mps / course \(course)) @ \(timestamp)"
    }

    /// Everything there is, in the order of the archive.
    package var numbers: [Double] {
        [
            coordinate.latitude, coordinate.longitude, altitude, horizontalAccuracy, verticalAccuracy, course,
            courseAccuracy, speed, speedAccuracy, timestamp.timeIntervalSinceReferenceDate,
        ]
    }

    // MARK: Archiving

    /// A Boolean value that indicates whether the class can be archived securely; always true.
    public static var supportsSecureCoding: Bool { true }

    /// The keys of the numbers in Apple's archives, and the numbers that stand for missing ones, in the order of `numbers`.
    private static let archiveKeys: [(name: String, missing: Double)] = [
        ("CoordinateLatitude", 0), ("CoordinateLongitude", 0), ("Altitude", 0), ("HorizontalAccuracy", 0),
        ("VerticalAccuracy", -1), ("Course", -1), ("CourseAccuracy", -1), ("Speed", -1), ("SpeedAccuracy", -1),
        ("Timestamp", 0),
    ]

    private static let archivePrefix = "kCLLocationCodingKey"

    /// Writes the location as Apple's framework does: one number a key.
    public func encode(with coder: NSCoder) {
        for (key, number) in zip(Self.archiveKeys, numbers) {
            coder.encode(number, forKey: Self.archivePrefix + key.name)
        }
    }

    /// Creates the location from an archive; nil when the archive does not describe one.
    public required convenience init?(coder: NSCoder) {
        self.init(archivedNumber: { coder.containsValue(forKey: $0) ? coder.decodeDouble(forKey: $0) : nil })
    }

    /// Creates the location from the numbers of an archive; nil without a latitude or a longitude.
    ///
    /// - Parameter number: Returns the number of a key; nil: the archive has none.
    package convenience init?(archivedNumber number: (String) -> Double?) {
        let numbers = Self.archiveKeys.map { number(Self.archivePrefix + $0.name) }
        guard numbers[0] != nil, numbers[1] != nil else { return nil }
        self.init(numbers: zip(numbers, Self.archiveKeys).map { $0 ?? $1.missing })
    }

    /// A location of its `numbers`; nil unless there are as many as there have to be.
    package convenience init?(numbers: [Double]) {
        guard numbers.count == 10 else { return nil }
        self.init(
            coordinate: CLLocationCoordinate2D(latitude: numbers[0], longitude: numbers[1]), altitude: numbers[2],
            horizontalAccuracy: numbers[3], verticalAccuracy: numbers[4], course: numbers[5],
            courseAccuracy: numbers[6],
            speed: numbers[7], speedAccuracy: numbers[8], timestamp: Date(timeIntervalSinceReferenceDate: numbers[9]))
    }
}
