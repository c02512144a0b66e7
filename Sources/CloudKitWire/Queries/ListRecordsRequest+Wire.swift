import CloudKitModel
import JSONBytes

extension ListRecordsRequest {
    /// Reads the body of `records/list` (docs/web-services.md §6.5).
    ///
    /// - Throws: `badRequest`; `sizeLimitExceeded` beyond `limits`.
    package init(wire bytes: [UInt8], limits: WireLimits) throws(RequestFailure) {
        self = try WireBody.request(bytes, limits: limits) { reader in
            var request = ListRecordsRequest(zoneID: .default)
            try reader.object { reader, key in
                if try reader.readNull() { return }
                switch key {
                case "zoneID": request.zoneID = try ZoneID(reading: &reader)
                case "resultsLimit": request.resultsLimit = try reader.intIfAny()
                case "continuationMarker": request.continuationMarker = try reader.string()
                case "numbersAsStrings", "numberAsStrings": request.numbersAsStrings = try reader.bool()
                default: try reader.skipValue()
                }
            }
            return request
        }
    }

    /// Prints the body.
    package func wire() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.pair("zoneID", zoneID)
        writer.pair("resultsLimit", resultsLimit.map(Int64.init))
        writer.pair("continuationMarker", continuationMarker)
        if numbersAsStrings { writer.pair("numbersAsStrings", true) }
        writer.endObject()
        return writer.bytes
    }
}

extension QueryPage {
    /// Prints the answer of `records/list`.
    ///
    /// - Parameters:
    ///   - style: The caller's style.
    ///   - request: The request, which says how numbers are printed.
    package func wireAnswer(style: WireStyle, answering request: ListRecordsRequest) -> [UInt8] {
        wireAnswer(style: style.wanting(nil, numbersAsStrings: request.numbersAsStrings))
    }
}
