import CloudKitModel
import JSONBytes

/// The answer of a long poll to our own SDK: all waiting notifications, and the position that confirms them.
package struct LongPollAnswer: Hashable, Sendable {
    /// One JSON object each (docs/web-services.md §12.3), oldest first.
    package var payloads: [[UInt8]]
    /// Opaque; sent back once the notifications are in the app's hands.
    package var position: String

    /// Creates a value with the given properties.
    package init(payloads: [[UInt8]], position: String) {
        self.payloads = payloads
        self.position = position
    }

    /// Returns the body in the form of web services.
    package func wire() -> [UInt8] {
        var writer = JSONWriter(capacity: 64 + payloads.reduce(0) { $0 + $1.count + 1 })
        writer.beginObject()
        writer.key("notifications")
        writer.beginArray()
        for payload in payloads { writer.raw(payload) }
        writer.endArray()
        writer.pair("position", position)
        writer.endObject()
        return writer.bytes
    }

    /// - Throws: `internalError` if it cannot be read.
    package init(wireAnswer bytes: [UInt8]) throws(RequestFailure) {
        self = try WireBody.answer(bytes) { reader in
            var answer = LongPollAnswer(payloads: [], position: "")
            try reader.object { reader, key in
                switch key {
                case "notifications": try reader.array { answer.payloads.append(try $0.rawValue()) }
                case "position": answer.position = try reader.string()
                default: try reader.skipValue()
                }
            }
            return answer
        }
    }
}
