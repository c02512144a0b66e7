import CloudKitModel
import JSONBytes

extension JSONWriter {
    mutating func pair(_ key: StaticString, _ value: String?) {
        guard let value else { return }
        self.key(key)
        string(value)
    }

    mutating func pair(_ key: StaticString, _ value: Int64?) {
        guard let value else { return }
        self.key(key)
        int64(value)
    }

    mutating func pair(_ key: StaticString, _ value: Bool?) {
        guard let value else { return }
        self.key(key)
        bool(value)
    }

    mutating func pair(_ key: StaticString, _ values: [String]?) {
        guard let values else { return }
        self.key(key)
        array { writer in
            for value in values { writer.string(value) }
        }
    }

    /// Seconds, without fraction where there is none.
    mutating func pair(_ key: StaticString, seconds: Double?) {
        guard let seconds, seconds.isFinite else { return }
        self.key(key)
        if let whole = Int64(whole: seconds) { int64(whole) } else { double(seconds) }
    }

    mutating func pair(_ key: StaticString, base64 bytes: [UInt8]?) {
        guard let bytes else { return }
        self.key(key)
        base64(bytes)
    }

    /// The zone ID of a request.
    mutating func pair(_ key: StaticString, _ zoneID: ZoneID?) {
        guard let zoneID else { return }
        self.key(key)
        zoneID.write(to: &self)
    }

    /// The zone ID of an answer (docs/web-services.md §3.1).
    mutating func zoneID(_ zoneID: ZoneID, style: WireStyle) {
        beginObject()
        key("zoneName")
        string(zoneID.zoneName)
        key("ownerRecordName")
        string(style.name(ofOwner: zoneID.owner))
        key("zoneType")
        word(zoneID.isDefaultZone ? "DEFAULT_ZONE" : "REGULAR_CUSTOM_ZONE")
        endObject()
    }
}
