import CloudKitModel
import JSONBytes

/// The keys of a subscription, gathered while it is read: its type may come after what depends on it.
struct SubscriptionKeys {
    var id: String?
    private var type: String?
    private var zoneID: ZoneID?
    private var isZoneWide: Bool?
    private var query: Query?
    private var recordType: String?
    private var firesOn: RecordEvents = []
    private var firesOnce = false
    private var info: NotificationInfo?

    mutating func read(_ reader: inout JSONReader, limits: WireLimits) throws {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if try reader.readNull() { continue }
            if try !read(key, &reader, limits: limits) { try reader.skipValue() }
        }
    }

    /// Reads the value of `key` if it is one of a subscription; false, nothing consumed, if it is not.
    mutating func read(_ key: JSONText, _ reader: inout JSONReader, limits: WireLimits) throws -> Bool {
        switch key {
        case "subscriptionID": id = try reader.string()
        case "subscriptionType": type = try reader.string()
        case "zoneID": zoneID = try ZoneID(reading: &reader)
        case "zoneWide": isZoneWide = try reader.bool()
        case "query": query = try Query(reading: &reader, limits: limits)
        // Our own addition: the record type that a zone or database subscription looks at.
        case "recordType": recordType = try reader.string()
        case "firesOn": try reader.array { firesOn.insert(RecordEvents(try $0.word(RecordEvent.init(word:)))) }
        case "firesOnce": firesOnce = try reader.bool()
        case "notificationInfo": info = try NotificationInfo(reading: &reader)
        default: return false
        }
        return true
    }

    /// - Throws: `badRequest` if a key is missing.
    func subscription() throws(RequestFailure) -> Subscription {
        Subscription(id: id ?? "", interest: try interest(), notificationInfo: info)
    }

    private func interest() throws(RequestFailure) -> Subscription.Interest {
        switch type {
        case "query":
            guard let query else { throw .missing("query") }
            return .query(
                SubscribedQuery(
                    query: query, zoneID: isZoneWide == true ? nil : zoneID, firesOn: firesOn, firesOnce: firesOnce))
        case "zone":
            guard let zoneID else { throw .missing("zoneID") }
            return .zone(zoneID, recordType: recordType)
        case "database": return .database(recordType: recordType)
        case nil: throw .missing("subscriptionType")
        case .some:
            throw RequestFailure(
                .badRequest, "unknown subscriptionType", remedy: "It is query, zone or database.")
        }
    }
}

extension Subscription {
    /// - Parameter style: Of an answer; nil: in a request.
    func write(to writer: inout JSONWriter, style: WireStyle?) {
        writer.beginObject()
        if !id.isEmpty { writer.pair("subscriptionID", id) }
        writer.key("subscriptionType")
        switch interest {
        case .query(let query):
            writer.word("query")
            query.write(to: &writer, style: style)
        case .zone(let zoneID, let recordType):
            writer.word("zone")
            writer.zoneID("zoneID", zoneID, style: style)
            writer.pair("zoneWide", false)
            writer.pair("recordType", recordType)
        case .database(let recordType):
            writer.word("database")
            writer.pair("zoneWide", true)
            writer.pair("recordType", recordType)
        }
        if let notificationInfo {
            writer.key("notificationInfo")
            notificationInfo.write(to: &writer)
        }
        writer.endObject()
    }
}

extension SubscribedQuery {
    fileprivate func write(to writer: inout JSONWriter, style: WireStyle?) {
        if let zoneID { writer.zoneID("zoneID", zoneID, style: style) }
        writer.pair("zoneWide", zoneID == nil)
        writer.key("query")
        query.write(to: &writer)
        writer.key("firesOn")
        writer.array { writer in
            for event in RecordEvent.allCases where firesOn.contains(RecordEvents(event)) { writer.string(event.word) }
        }
        writer.pair("firesOnce", firesOnce)
    }
}

extension JSONWriter {
    fileprivate mutating func zoneID(_ key: StaticString, _ zoneID: ZoneID, style: WireStyle?) {
        guard let style else { return pair(key, zoneID) }
        self.key(key)
        self.zoneID(zoneID, style: style)
    }
}
