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
        static let records = Parts(rawValue: 1 << 13)
    }

    /// Writes the entry.
    package func write(to writer: inout EntryWriter) {
        writer.write(Int(parts.rawValue))
        writer.write(id.high)
        writer.write(id.low)
        writer.write(byte: kind.rawValue)
        writer.write(operation)
        // One by one: an array of them costs more than writing them.
        writer.write(ifPresent: container)
        writer.write(ifPresent: environment)
        writer.write(ifPresent: database)
        writer.write(ifPresent: user)
        writer.write(ifPresent: device)
        writer.write(ifPresent: zone)
        writer.write(ifPresent: recordType)
        writer.write(ifPresent: client)
        writer.write(ifPresent: groupName)
        writer.write(ifPresent: code)
        if let operationID {
            writer.write(operationID.high)
            writer.write(operationID.low)
        }
        if let group {
            writer.write(group.high)
            writer.write(group.low)
        }
        writer.write(status)
        writer.write(microseconds)
        writer.write(bytesIn)
        writer.write(bytesOut)
        writer.write(itemsIn)
        writer.write(itemsOut)
        writer.write(itemsFailed)
        writer.write(retryAfter)
        details?.write(to: &writer)
        if !records.isEmpty {
            writer.write(records.count)
            for record in records { writer.write(record) }
        }
    }

    private var parts: Parts {
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
        if !records.isEmpty { parts.insert(.records) }
        return parts
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
        if parts.contains(.records) {
            var pseudonyms: [UInt64] = []
            for _ in 0..<(try reader.number()) { pseudonyms.append(try reader.fixed()) }
            setRecords(pseudonyms)
        }
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
