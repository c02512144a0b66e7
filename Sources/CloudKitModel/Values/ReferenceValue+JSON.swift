import JSONBytes

extension ReferenceValue {
    /// Reads the object of docs/web-services.md §4.5; without action it is `NONE`, without zone that of the record.
    package init(_ value: JSONValue) throws(RequestFailure) {
        var recordName: String?
        var action = Action.none
        var zoneID: ZoneID?
        do {
            var reader = value.reader
            try reader.beginObject()
            while let key = try reader.nextKey() {
                if try reader.readNull() { continue }
                switch key {
                case "recordName": recordName = try reader.string()
                case "action":
                    guard let known = Action(rawValue: try reader.string()) else {
                        throw RequestFailure.unexpectedInput
                    }
                    action = known
                case "zoneID": zoneID = try ZoneID(reading: &reader)
                default: try reader.skipValue()
                }
            }
        } catch let failure as RequestFailure {
            throw failure
        } catch {
            throw .invalidValue(expected: .reference)
        }
        guard let recordName, !recordName.isEmpty else { throw .invalidValue(expected: .reference) }
        self.init(recordName: recordName, zoneID: zoneID, action: action)
    }

    func append(to output: inout [UInt8]) throws(RequestFailure) {
        guard !recordName.isEmpty else { throw .invalidValue(expected: .reference) }
        var writer = JSONWriter(capacity: 96)
        writer.beginObject()
        writer.key("recordName")
        writer.string(recordName)
        writer.key("action")
        writer.string(action.rawValue)
        if let zoneID {
            writer.key("zoneID")
            zoneID.write(to: &writer)
        }
        writer.endObject()
        output.append(contentsOf: writer.bytes)
    }
}
