/// The stored form of an entry while it is among the newest: a mask of what it has, then that.
extension LogEntry {
    private struct Parts: OptionSet {
        var rawValue: UInt32
        static let container = Parts(rawValue: 1)
        static let environment = Parts(rawValue: 1 << 1)
        static let database = Parts(rawValue: 1 << 2)
        static let user = Parts(rawValue: 1 << 3)
        static let device = Parts(rawValue: 1 << 4)
        static let zone = Parts(rawValue: 1 << 5)
        static let recordType = Parts(rawValue: 1 << 6)
        static let client = Parts(rawValue: 1 << 7)
        static let operationID = Parts(rawValue: 1 << 8)
        static let group = Parts(rawValue: 1 << 9)
        static let groupName = Parts(rawValue: 1 << 10)
        static let code = Parts(rawValue: 1 << 11)
        static let details = Parts(rawValue: 1 << 12)
    }

    /// Writes the entry.
    package func write(to writer: inout EntryWriter) {
        var parts: Parts = []
        if container != nil { parts.insert(.container) }
        if environment != nil { parts.insert(.environment) }
        if database != nil { parts.insert(.database) }
        if user != nil { parts.insert(.user) }
        if device != nil { parts.insert(.device) }
        if zone != nil { parts.insert(.zone) }
        if recordType != nil { parts.insert(.recordType) }
        if client != nil { parts.insert(.client) }
        if operationID != nil { parts.insert(.operationID) }
        if group != nil { parts.insert(.group) }
        if groupName != nil { parts.insert(.groupName) }
        if code != nil { parts.insert(.code) }
        if details != nil { parts.insert(.details) }
        writer.write(Int(parts.rawValue))
        writer.write(id.high)
        writer.write(id.low)
        writer.write(byte: kind.rawValue)
        writer.write(operation)
        for text in [container, environment, database, user, device, zone, recordType, client, groupName, code] {
            if let text { writer.write(text) }
        }
        for id in [operationID, group] {
            if let id {
                writer.write(id.high)
                writer.write(id.low)
            }
        }
        for number in [status, microseconds, bytesIn, bytesOut, itemsIn, itemsOut, itemsFailed, retryAfter] {
            writer.write(number)
        }
        details?.write(to: &writer)
    }

    /// Reads an entry.
    ///
    /// - Throws: `Malformed`.
    package init(_ reader: inout EntryReader) throws(EntryReader.Malformed) {
        guard let mask = UInt32(exactly: try reader.number()) else { throw EntryReader.Malformed() }
        let parts = Parts(rawValue: mask)
        let id = LogID(high: try reader.fixed(), low: try reader.fixed())
        guard let kind = Kind(rawValue: try reader.byte()) else { throw EntryReader.Malformed() }
        self.init(id: id, kind: kind, operation: try reader.text())
        if parts.contains(.container) { container = try reader.text() }
        if parts.contains(.environment) { environment = try reader.text() }
        if parts.contains(.database) { database = try reader.text() }
        if parts.contains(.user) { user = try reader.text() }
        if parts.contains(.device) { device = try reader.text() }
        if parts.contains(.zone) { zone = try reader.text() }
        if parts.contains(.recordType) { recordType = try reader.text() }
        if parts.contains(.client) { client = try reader.text() }
        if parts.contains(.groupName) { groupName = try reader.text() }
        if parts.contains(.code) { code = try reader.text() }
        if parts.contains(.operationID) { operationID = LogID(high: try reader.fixed(), low: try reader.fixed()) }
        if parts.contains(.group) { group = LogID(high: try reader.fixed(), low: try reader.fixed()) }
        status = try reader.number()
        microseconds = try reader.number()
        bytesIn = try reader.number()
        bytesOut = try reader.number()
        itemsIn = try reader.number()
        itemsOut = try reader.number()
        itemsFailed = try reader.number()
        retryAfter = try reader.number()
        if parts.contains(.details) { details = try LogDetails(&reader) }
    }
}

extension LogDetails {
    /// Writes the details.
    package func write(to writer: inout EntryWriter) {
        writer.write(failures.count)
        for failure in failures {
            writer.write(failure.code)
            writer.write(failure.reason)
            for text in [failure.item, failure.recordType, failure.remedy] {
                writer.write(byte: text == nil ? 0 : 1)
                if let text { writer.write(text) }
            }
        }
        writer.write(attributes.count)
        for (name, value) in attributes.sorted(by: { $0.key < $1.key }) {
            writer.write(name)
            writer.write(value)
        }
    }

    /// Reads details.
    ///
    /// - Throws: `Malformed`.
    package init(_ reader: inout EntryReader) throws(EntryReader.Malformed) {
        self.init()
        for _ in 0..<(try reader.number()) {
            var failure = LogFailure(code: try reader.text(), reason: try reader.text())
            if try reader.byte() == 1 { failure.item = try reader.text() }
            if try reader.byte() == 1 { failure.recordType = try reader.text() }
            if try reader.byte() == 1 { failure.remedy = try reader.text() }
            failures.append(failure)
        }
        for _ in 0..<(try reader.number()) {
            let name = try reader.text()
            attributes[name] = try reader.text()
        }
    }
}
