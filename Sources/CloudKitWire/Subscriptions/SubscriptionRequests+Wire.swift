import CloudKitModel
import JSONBytes

extension Array where Element == SubscriptionOperation {
    /// Reads the body of `subscriptions/modify` (docs/web-services.md §9).
    ///
    /// - Throws: `badRequest`; `itemLimitExceeded`, `sizeLimitExceeded` beyond `limits`.
    package init(wire bytes: [UInt8], limits: WireLimits) throws(RequestFailure) {
        self = try WireBody.requestList("operations", bytes, limits: limits) {
            try SubscriptionOperation(reading: &$0, limits: limits)
        }
    }

    /// Prints the body of `subscriptions/modify`.
    package func wire() -> [UInt8] {
        WireBody.list("operations", self) { $0.write(to: &$1) }
    }
}

extension SubscriptionOperation {
    private enum Kind: String {
        case create, update, delete
    }

    fileprivate init(reading reader: inout JSONReader, limits: WireLimits) throws {
        var kind: Kind?
        var body: JSONValue?
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "operationType": kind = try reader.word(Kind.init(rawValue:))
            case "subscription": body = try reader.readNull() ? nil : try reader.value()
            default: try reader.skipValue()
            }
        }
        guard let kind else { throw RequestFailure.missing("operationType") }
        guard let body else { throw RequestFailure.missing("subscription") }
        var keys = SubscriptionKeys()
        var inside = body.reader
        try keys.read(&inside, limits: limits)
        switch kind {
        case .create: self = .create(try keys.subscription())
        case .update: self = .update(try keys.subscription())
        case .delete:
            guard let id = keys.id else { throw RequestFailure.missing("subscriptionID") }
            self = .delete(id: id)
        }
    }

    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("operationType")
        switch self {
        case .create(let subscription):
            writer.word("create")
            writer.key("subscription")
            subscription.write(to: &writer, style: nil)
        case .update(let subscription):
            writer.word("update")
            writer.key("subscription")
            subscription.write(to: &writer, style: nil)
        case .delete(let id):
            writer.word("delete")
            writer.key("subscription")
            writer.object { $0.pair("subscriptionID", id) }
        }
        writer.endObject()
    }
}

/// The body of `subscriptions/lookup`.
package enum SubscriptionLookup {
    /// Reads the identifiers asked for.
    ///
    /// - Throws: `badRequest`; `itemLimitExceeded`, `sizeLimitExceeded` beyond `limits`.
    package static func ids(wire bytes: [UInt8], limits: WireLimits) throws(RequestFailure) -> [String] {
        try WireBody.requestList("subscriptions", bytes, limits: limits) { reader in
            var id: String?
            try reader.object { reader, key in
                if key == "subscriptionID" { id = try reader.stringIfAny() } else { try reader.skipValue() }
            }
            guard let id else { throw RequestFailure.missing("subscriptionID") }
            return id
        }
    }

    /// Prints the body.
    package static func wire(_ ids: [String]) -> [UInt8] {
        WireBody.list("subscriptions", ids) { id, writer in writer.object { $0.pair("subscriptionID", id) } }
    }
}
