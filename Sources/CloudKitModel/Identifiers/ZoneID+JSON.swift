import JSONBytes

extension ZoneID {
    /// Reads a zone ID by docs/web-services.md §3.1: the default zone and the caller where nothing is said, `ownerName` as a
    /// synonym of `ownerRecordName`.
    package init(reading reader: inout JSONReader) throws(JSONError) {
        self = .default
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if try reader.readNull() { continue }
            switch key {
            case "zoneName": zoneName = try reader.string()
            case "ownerRecordName", "ownerName": owner = UserID(try reader.string())
            default: try reader.skipValue()
            }
        }
    }

    /// Writes the zone ID of a request: the owner only where it is not the caller.
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("zoneName")
        writer.string(zoneName)
        if !owner.isCaller {
            writer.key("ownerRecordName")
            writer.string(owner.recordName)
        }
        writer.endObject()
    }
}
