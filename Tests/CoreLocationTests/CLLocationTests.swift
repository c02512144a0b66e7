import CoreLocation
import Foundation
import Testing

@Suite(.timeLimit(.minutes(20))) struct CLLocationTests {
    @Test func `a location of two angles knows nothing else`() {
        let place = CLLocation(latitude: 52.5, longitude: 13.4)
        #expect(place.coordinate.latitude == 52.5)
        #expect(place.coordinate.longitude == 13.4)
        #expect(place.altitude == 0)
        #expect(place.horizontalAccuracy == 0)
        #expect(place.verticalAccuracy == -1)
        #expect(place.course == -1)
        #expect(place.speed == -1)
        #expect(abs(place.timestamp.timeIntervalSinceNow) < 60)
    }

    @Test func `B-QRY-11 distances follow the great circle and ignore altitude`() {
        let berlin = CLLocation(latitude: 52.5200, longitude: 13.4050)
        let paris = CLLocation(latitude: 48.8566, longitude: 2.3522)
        #expect(abs(berlin.distance(from: paris) - 877_500) < 2_000)
        #expect(berlin.distance(from: paris) == paris.distance(from: berlin))
        #expect(berlin.distance(from: berlin) == 0)
        let above = CLLocation(
            coordinate: berlin.coordinate, altitude: 9_000, horizontalAccuracy: 1, verticalAccuracy: 1,
            timestamp: Date())
        #expect(above.distance(from: berlin) == 0)
    }

    @Test func `distances cross the date line and reach the antipodes`() {
        let west = CLLocation(latitude: 0, longitude: 179.5)
        let east = CLLocation(latitude: 0, longitude: -179.5)
        #expect(abs(west.distance(from: east) - 111_195) < 10)
        let pole = CLLocation(latitude: 90, longitude: 0).distance(from: CLLocation(latitude: -90, longitude: 0))
        #expect(abs(pole - 20_015_115) < 10)
    }

    @Test func `coordinates are valid within their ranges`() {
        #expect(CLLocationCoordinate2DIsValid(CLLocationCoordinate2DMake(90, -180)))
        #expect(!CLLocationCoordinate2DIsValid(CLLocationCoordinate2DMake(90.1, 0)))
        #expect(!CLLocationCoordinate2DIsValid(CLLocationCoordinate2DMake(0, 180.1)))
        #expect(!CLLocationCoordinate2DIsValid(CLLocationCoordinate2DMake(.nan, 0)))
        #expect(!CLLocationCoordinate2DIsValid(kCLLocationCoordinate2DInvalid))
    }

    @Test func `an archive gives back every number bit for bit`() throws {
        let place = CLLocation(
            coordinate: CLLocationCoordinate2D(latitude: 12.340000000000002, longitude: -0.1), altitude: 1 / 3,
            horizontalAccuracy: 5, verticalAccuracy: -1, course: 359.9, courseAccuracy: 2, speed: 1.25,
            speedAccuracy: 0.5, timestamp: Date(timeIntervalSinceReferenceDate: 700_000_000.125))
        let data = try NSKeyedArchiver.archivedData(withRootObject: place, requiringSecureCoding: true)
        let again = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CLLocation.self, from: data))
        #expect(again == place)
        #expect(again.coordinate.latitude.bitPattern == place.coordinate.latitude.bitPattern)
        #expect(again.courseAccuracy == 2)
        #expect(again.timestamp == place.timestamp)
    }

    @Test func `locations compare by value`() {
        let date = Date()
        func place(_ altitude: Double) -> CLLocation {
            CLLocation(
                coordinate: CLLocationCoordinate2D(latitude: 1, longitude: 2), altitude: altitude,
                horizontalAccuracy: 0, verticalAccuracy: 0, timestamp: date)
        }
        #expect(place(3) == place(3))
        #expect(place(3).hash == place(3).hash)
        #expect(place(3) != place(4))
        #expect(place(3).copy() as? CLLocation == place(3))
    }

    @Test func `states have the raw values of Apple's framework`() {
        #expect(CLAuthorizationStatus.authorizedWhenInUse.rawValue == Int32(4))
        #expect(CLAuthorizationStatus(rawValue: 3) == .authorizedAlways)
        #expect(CLAccuracyAuthorization.reducedAccuracy.rawValue == 1)
        #expect(CLActivityType.other.rawValue == 1)
        #expect(CLActivityType.airborne.rawValue == 5)
        #expect(CLDeviceOrientation.faceDown.rawValue == Int32(6))
        #expect(CLRegionState.outside.rawValue == 2)
        #expect(CLProximity.far.rawValue == 3)
    }

    @Test func `a location knows its origin`() {
        #expect(CLLocation(latitude: 1, longitude: 2).sourceInformation == nil)
        let origin = CLLocationSourceInformation(softwareSimulationState: true, andExternalAccessoryState: false)
        let place = CLLocation(
            coordinate: CLLocationCoordinate2D(latitude: 1, longitude: 2), altitude: 0, horizontalAccuracy: 1,
            verticalAccuracy: 1, course: 0, courseAccuracy: 1, speed: 0, speedAccuracy: 1, timestamp: Date(),
            sourceInfo: origin)
        #expect(place.sourceInformation?.isSimulatedBySoftware == true)
        #expect(place.sourceInformation?.isProducedByAccessory == false)
    }

    @Test func `an archive has Apple's keys`() throws {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        CLLocation(latitude: 52.5, longitude: 13.4).encode(with: archiver)
        archiver.finishEncoding()
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        #expect(unarchiver.decodeDouble(forKey: "kCLLocationCodingKeyCoordinateLatitude") == 52.5)
        #expect(unarchiver.decodeDouble(forKey: "kCLLocationCodingKeySpeed") == -1)
        #expect(CLLocation(coder: unarchiver)?.coordinate.longitude == 13.4)
    }
}
