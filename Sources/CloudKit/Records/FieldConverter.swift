import CloudKitClient
import CloudKitModel
import CoreLocation
import Foundation

/// Converts the values of a record to fields, and back.
struct FieldConverter {
    /// The zone of the record: references into it are sent without their zone.
    let zoneID: CKRecordZoneID
    /// The object for a received asset.
    let asset: (AssetSlot, AssetValue) -> CKAsset

    /// - Parameter asset: Not called on the way to the server.
    init(
        zoneID: CKRecordZoneID,
        asset: @escaping (AssetSlot, AssetValue) -> CKAsset = { _, _ in CKAsset(nil, archivedAt: nil) }
    ) {
        self.zoneID = zoneID
        self.asset = asset
    }

    // MARK: To the server

    /// - Throws: `CKError.invalidArguments` naming the field and the type, never the value.
    func value(of stored: Any, key: String) throws(CKError) -> FieldValue {
        switch stored {
        case let location as CLLocation: return .location(try self.location(location, key: key))
        case let reference as CKReference: return .reference(reference.model(in: zoneID))
        case let text as NSString: return .string(text as String)
        case let number as NSNumber: return try self.number(number, key: key)
        case let date as NSDate: return .timestamp(try Self.milliseconds(date as Date, key: key))
        case let data as NSData: return .bytes([UInt8](data as Data))
        case let list as NSArray: return try self.list(list, key: key)
        case is CKAsset:
            // `CKRecord.fieldChanges` takes fields of assets out before.
            throw CKError.invalidArguments("Field '\(key)': the elements of a list must all be of one type")
        default:
            throw CKError.invalidArguments("Field '\(key)' holds a \(type(of: stored)), which no field can hold")
        }
    }

    private func number(_ number: NSNumber, key: String) throws(CKError) -> FieldValue {
        switch NumberKind(number) {
        case .bool:
            return .int64(number.boolValue ? 1 : 0)
        case .integer:
            return .int64(number.int64Value)
        case .unsigned:
            guard let value = Int64(exactly: number.uint64Value) else {
                throw CKError.invalidArguments("Field '\(key)': the number does not fit into a signed 64-bit integer")
            }
            return .int64(value)
        case .double:
            return .double(try Self.finite(number.doubleValue, key: key))
        }
    }

    private func list(_ list: NSArray, key: String) throws(CKError) -> FieldValue {
        var values: [FieldValue] = []
        for element in list {
            values.append(try value(of: element, key: key))
        }
        return try Self.list(of: values, key: key)
    }

    /// A list of one type (B-REC-01); whole numbers among doubles count as doubles.
    static func list(of values: [FieldValue], key: String) throws(CKError) -> FieldValue {
        guard let first = values.first else { return .list(.unknown, []) }
        let bases = Set(values.map(\.base))
        if bases == [.int64, .double] {
            return .list(.double, values.map(\.asDouble))
        }
        guard bases.count == 1, let base = first.base else {
            throw CKError.invalidArguments("Field '\(key)': the elements of a list must all be of one type")
        }
        return .list(base, values)
    }

    private func location(_ location: CLLocation, key: String) throws(CKError) -> LocationValue {
        LocationValue(
            latitude: try Self.finite(location.coordinate.latitude, key: key),
            longitude: try Self.finite(location.coordinate.longitude, key: key),
            horizontalAccuracy: try Self.finite(location.horizontalAccuracy, key: key),
            verticalAccuracy: try Self.finite(location.verticalAccuracy, key: key),
            altitude: try Self.finite(location.altitude, key: key), speed: try Self.finite(location.speed, key: key),
            course: try Self.finite(location.course, key: key),
            timestamp: try Self.milliseconds(location.timestamp, key: key))
    }

    private static func finite(_ number: Double, key: String) throws(CKError) -> Double {
        guard number.isFinite else {
            throw CKError.invalidArguments("Field '\(key)': a number must be finite")
        }
        return number
    }

    /// Whole milliseconds since 1970, the nearest.
    static func milliseconds(_ date: Date, key: String) throws(CKError) -> Int64 {
        guard let value = Int64(exactly: (date.timeIntervalSince1970 * 1000).rounded()) else {
            throw CKError.invalidArguments("Field '\(key)': the date is out of range")
        }
        return value
    }

    // MARK: From the server

    func object(of value: FieldValue, key: String) -> any StoredValue {
        object(of: value, at: AssetSlot(field: key))
    }

    private func object(of value: FieldValue, at slot: AssetSlot) -> any StoredValue {
        switch value {
        case .string(let text): return text as NSString
        case .int64(let number): return NSNumber(value: number)
        case .double(let number): return NSNumber(value: number)
        case .timestamp(let milliseconds): return Self.date(milliseconds) as NSDate
        case .bytes(let bytes): return Data(bytes) as NSData
        case .location(let location): return Self.location(location)
        case .reference(let reference): return CKReference(reference, in: zoneID)
        case .asset(let value): return asset(slot, value)
        case .list(_, let values):
            return values.enumerated().map { position, value in
                object(of: value, at: AssetSlot(field: slot.field, position: position)) as Any
            } as NSArray
        }
    }

    static func date(_ milliseconds: Int64) -> Date {
        Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    }

    private static func location(_ value: LocationValue) -> CLLocation {
        CLLocation(
            coordinate: CLLocationCoordinate2D(latitude: value.latitude, longitude: value.longitude),
            altitude: value.altitude ?? 0, horizontalAccuracy: value.horizontalAccuracy ?? 0,
            verticalAccuracy: value.verticalAccuracy ?? -1, course: value.course ?? -1, speed: value.speed ?? -1,
            timestamp: date(value.timestamp ?? 0))
    }
}

extension FieldValue {
    /// nil for a list.
    var base: FieldType.Base? {
        switch self {
        case .string: .string
        case .int64: .int64
        case .double: .double
        case .timestamp: .timestamp
        case .bytes: .bytes
        case .location: .location
        case .reference: .reference
        case .asset: .asset
        case .list: nil
        }
    }

    /// A whole number as a double; anything else as it is.
    var asDouble: FieldValue {
        if case .int64(let number) = self { .double(Double(number)) } else { self }
    }
}
