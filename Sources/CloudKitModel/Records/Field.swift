/// One field of a record in the form in which it is stored and in which it leaves on the wire.
///
/// `json` is the canonical JSON of the bare value (web-services form: a string, a number, base64, an object, an array);
/// reading a record copies these bytes and neither parses nor prints them. The JSON of an encrypted type is always a
/// base64 string: the value that a device has sealed.
package struct Field: Hashable, Sendable {
    /// The name of the field.
    package var name: String
    /// The type of the value.
    package var type: FieldType
    /// The canonical JSON of the value.
    package var json: [UInt8]

    /// Creates a value with the given properties.
    package init(name: String, type: FieldType, json: [UInt8]) {
        self.name = name
        self.type = type
        self.json = json
    }
}

/// The type of a field, written on the wire as `STRING`, `INT64_LIST`, `ENCRYPTED_BYTES`…
package struct FieldType: Hashable, Sendable {
    /// The types of single values; raw values are stored.
    package enum Base: UInt8, Hashable, Sendable, CaseIterable {
        case string = 1
        case int64, double, timestamp, bytes, location, reference, asset
        /// An empty list that came without a tag; never stored.
        case unknown
    }

    /// The type of the value, or of a list's elements.
    package var base: Base
    /// A Boolean value that indicates whether the value is a list.
    package var isList: Bool
    /// A Boolean value that indicates whether the value is sealed by a device.
    package var isEncrypted: Bool
    /// A Boolean value that indicates whether the client left the type out, so that the schema decides (the base is
    /// then a guess from the JSON).
    package var isGuess: Bool

    /// Creates a type.
    package init(_ base: Base, isList: Bool = false, isEncrypted: Bool = false, isGuess: Bool = false) {
        self.base = base
        self.isList = isList
        self.isEncrypted = isEncrypted
        self.isGuess = isGuess
    }

    /// The type of texts.
    package static let string = FieldType(.string)
    /// The type of integers.
    package static let int64 = FieldType(.int64)
    /// The type of doubles.
    package static let double = FieldType(.double)
    /// The type of dates.
    package static let timestamp = FieldType(.timestamp)
    /// The type of byte strings.
    package static let bytes = FieldType(.bytes)
    /// The type of locations.
    package static let location = FieldType(.location)
    /// The type of references.
    package static let reference = FieldType(.reference)
    /// The type of assets.
    package static let asset = FieldType(.asset)

    /// The type of lists of this type.
    package var list: FieldType { FieldType(base, isList: true, isEncrypted: isEncrypted) }
}

/// The value of a field, taken out of its JSON.
package enum FieldValue: Hashable, Sendable {
    case string(String)
    case int64(Int64)
    case double(Double)
    /// Whole milliseconds since 1970.
    case timestamp(Int64)
    case bytes([UInt8])
    case location(LocationValue)
    case reference(ReferenceValue)
    case asset(AssetValue)
    case list(FieldType.Base, [FieldValue])
}

/// A place on earth. Degrees, metres, metres a second; `timestamp` in milliseconds since 1970.
package struct LocationValue: Hashable, Sendable {
    /// Degrees north.
    package var latitude: Double
    /// Degrees east.
    package var longitude: Double
    /// The horizontal accuracy in metres.
    package var horizontalAccuracy: Double?
    /// The vertical accuracy in metres.
    package var verticalAccuracy: Double?
    /// The altitude in metres.
    package var altitude: Double?
    /// The speed in metres per second.
    package var speed: Double?
    /// The course in degrees from north.
    package var course: Double?
    /// The time of measurement, in milliseconds since 1970.
    package var timestamp: Int64?

    /// Creates a value with the given properties.
    package init(
        latitude: Double, longitude: Double, horizontalAccuracy: Double? = nil, verticalAccuracy: Double? = nil,
        altitude: Double? = nil, speed: Double? = nil, course: Double? = nil, timestamp: Int64? = nil
    ) {
        self.latitude = latitude
        self.longitude = longitude
        self.horizontalAccuracy = horizontalAccuracy
        self.verticalAccuracy = verticalAccuracy
        self.altitude = altitude
        self.speed = speed
        self.course = course
        self.timestamp = timestamp
    }
}

/// A pointer to another record of the same zone (B-REF-01).
package struct ReferenceValue: Hashable, Sendable {
    /// The effect on the record that holds the reference when its target is deleted.
    package enum Action: String, Hashable, Sendable {
        case none = "NONE"
        case deleteSelf = "DELETE_SELF"
        case validate = "VALIDATE"
    }

    /// The name of the record that is pointed at.
    package var recordName: String
    /// nil: the zone of the record that holds the reference.
    package var zoneID: ZoneID?
    /// The effect on the record that holds the reference when its target is deleted.
    package var action: Action

    /// Creates a value with the given properties.
    package init(recordName: String, zoneID: ZoneID? = nil, action: Action = .none) {
        self.recordName = recordName
        self.zoneID = zoneID
        self.action = action
    }
}

/// The dictionary of an asset (docs/web-services.md §7).
package struct AssetValue: Hashable, Sendable {
    /// Of the file as it was uploaded: `AZqG…`, 28 characters.
    package var fileChecksum: String
    /// Bytes of the file as it was uploaded.
    package var size: Int64
    /// The client's own: stored and given back, never read by the server.
    package var wrappingKey: String?
    /// The client's own: stored and given back, never read by the server.
    package var referenceChecksum: String?
    /// The proof of an upload; needed to save the uploaded file, never part of an answer.
    package var receipt: String?
    /// The URL from which the file can be downloaded for some hours; only in answers.
    package var downloadURL: String?
    /// The file in the server's store; never leaves it, and is never taken from a request.
    package var fileID: String?

    /// Creates a value with the given properties.
    package init(
        fileChecksum: String, size: Int64, wrappingKey: String? = nil, referenceChecksum: String? = nil,
        receipt: String? = nil, downloadURL: String? = nil, fileID: String? = nil
    ) {
        self.fileChecksum = fileChecksum
        self.size = size
        self.wrappingKey = wrappingKey
        self.referenceChecksum = referenceChecksum
        self.receipt = receipt
        self.downloadURL = downloadURL
        self.fileID = fileID
    }
}
