import CloudKitModel
import JSONBytes

extension QueryRecordsRequest {
    /// Reads the body of `records/query` (docs/web-services.md §6.4).
    ///
    /// - Throws: `badRequest`; `sizeLimitExceeded` beyond `limits`.
    package init(wire bytes: [UInt8], limits: WireLimits) throws(RequestFailure) {
        self = try WireBody.request(bytes, limits: limits) { reader in
            try QueryRecordsRequest(reading: &reader, limits: limits)
        }
    }

    /// Continues the query of a marker with what the request says beside the marker.
    private mutating func `continue`(_ marker: WebQueryMarker, limits: WireLimits) throws {
        let first = try WireBody.request(marker.request, limits: limits) { reader in
            try QueryRecordsRequest(reading: &reader, limits: limits)
        }
        query = first.query
        if zoneID == nil, !zoneWide {
            zoneID = first.zoneID
            zoneWide = first.zoneWide
        }
        resultsLimit = resultsLimit ?? first.resultsLimit
        desiredKeys = desiredKeys ?? first.desiredKeys
        numbersAsStrings = numbersAsStrings || first.numbersAsStrings
    }

    private init(reading reader: inout JSONReader, limits: WireLimits) throws {
        self.init(query: Query(recordType: ""), zoneID: nil)
        var isQueryGiven = false
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if try reader.readNull() { continue }
            switch key {
            case "query":
                query = try Query(reading: &reader, limits: limits)
                isQueryGiven = true
            case "zoneID": zoneID = try ZoneID(reading: &reader)
            case "zoneWide": zoneWide = try reader.bool()
            case "resultsLimit": resultsLimit = try reader.intIfAny()
            case "continuationMarker": continuationMarker = try reader.string()
            case "desiredKeys": desiredKeys = try reader.stringsIfAny()
            case "numbersAsStrings", "numberAsStrings": numbersAsStrings = try reader.bool()
            default: try reader.skipValue()
            }
        }
        let marker = continuationMarker.flatMap { WebQueryMarker($0) }
        if let marker {
            if !isQueryGiven { try self.continue(marker, limits: limits) }
            continuationMarker = marker.marker
        }
        // A next page may come with the marker alone.
        guard isQueryGiven || continuationMarker != nil else { throw RequestFailure.missing("query") }
        if zoneID != nil { zoneWide = false }
        if zoneID == nil, !zoneWide { zoneID = .default }
    }

    /// Prints the body.
    package func wire() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.pair("zoneID", zoneID)
        if zoneWide { writer.pair("zoneWide", true) }
        writer.pair("resultsLimit", resultsLimit.map(Int64.init))
        writer.key("query")
        query.write(to: &writer)
        writer.pair("continuationMarker", continuationMarker)
        writer.pair("desiredKeys", desiredKeys)
        if numbersAsStrings { writer.pair("numbersAsStrings", true) }
        writer.endObject()
        return writer.bytes
    }
}

extension Query {
    /// Reads a query, as `records/query` and subscriptions carry it.
    init(reading reader: inout JSONReader, limits: WireLimits) throws {
        var recordType: String?
        var filters: [QueryFilter] = []
        var sorts: [QuerySort] = []
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if try reader.readNull() { continue }
            switch key {
            case "recordType": recordType = try reader.string()
            case "filterBy": filters = try reader.oneOrMany(limits: limits) { try QueryFilter(reading: &$0) }
            case "sortBy": sorts = try reader.oneOrMany(limits: limits) { try QuerySort(reading: &$0) }
            default: try reader.skipValue()
            }
        }
        guard let recordType else { throw RequestFailure.missing("recordType") }
        self.init(recordType: recordType, filters: filters, sorts: sorts)
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.pair("recordType", recordType)
        if !filters.isEmpty {
            writer.key("filterBy")
            writer.beginArray()
            for filter in filters { filter.write(to: &writer) }
            writer.endArray()
        }
        if !sorts.isEmpty {
            writer.key("sortBy")
            writer.beginArray()
            for sort in sorts { sort.write(to: &writer) }
            writer.endArray()
        }
        writer.endObject()
    }
}

extension JSONReader {
    /// An array, or one object in its place.
    fileprivate mutating func oneOrMany<Item>(
        limits: WireLimits, _ read: (inout JSONReader) throws -> Item
    ) throws -> [Item] {
        try peekKind() == .object ? [try read(&self)] : try items(limits: limits, read)
    }
}
