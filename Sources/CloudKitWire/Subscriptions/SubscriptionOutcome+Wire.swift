import CloudKitModel
import JSONBytes

extension Array where Element == SubscriptionOutcome {
    /// Prints the answer of `subscriptions/list`, `subscriptions/lookup` and `subscriptions/modify`; items keep the order of
    /// the request.
    package func wireAnswer(style: WireStyle) -> [UInt8] {
        WireBody.list("subscriptions", self, capacity: 64 + count * 256) { $0.write(to: &$1, style: style) }
    }

    /// Reads the answer of `subscriptions/list`, `subscriptions/lookup` or `subscriptions/modify`.
    ///
    /// - Throws: `internalError` if it cannot be read.
    package init(wireAnswer bytes: [UInt8]) throws(RequestFailure) {
        self = try WireBody.answerList("subscriptions", bytes) { try SubscriptionOutcome(reading: &$0) }
    }
}

extension SubscriptionOutcome {
    fileprivate func write(to writer: inout JSONWriter, style: WireStyle) {
        switch self {
        case .subscription(let subscription): subscription.write(to: &writer, style: style)
        case .deleted(let id): writer.object { $0.pair("subscriptionID", id) }
        case .failed(let id, let failure):
            writer.beginObject()
            writer.pair("subscriptionID", id)
            failure.writeKeys(to: &writer, style: style)
            writer.pair("uuid", style.requestUUID)
            writer.endObject()
        }
    }

    fileprivate init(reading reader: inout JSONReader) throws {
        var keys = SubscriptionKeys()
        var error = ErrorKeys()
        var isWhole = false
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if try reader.readNull() { continue }
            if key == "subscriptionType" { isWhole = true }
            if try keys.read(key, &reader, limits: .answer) { continue }
            if try !error.read(key, &reader, zoneID: nil) { try reader.skipValue() }
        }
        if let failure = error.failure {
            self = .failed(id: keys.id ?? "", failure)
        } else {
            // A deleted one is echoed by its identifier only (docs/web-services.md §9).
            self = isWhole ? .subscription(try keys.subscription()) : .deleted(id: keys.id ?? "")
        }
    }
}
