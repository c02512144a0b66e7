import CloudKitModel
import JSONBytes

// Our own addition to web services, spoken on the native surface alone:
// `"protection": {"epoch": 0, "keys": "base64", "statement": "base64"}`.
extension Protection {
    init(reading reader: inout JSONReader) throws {
        self.init(epoch: 0)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "epoch":
                guard let number = UInt32(exactly: try reader.int64()) else { throw RequestFailure.unexpectedInput }
                epoch = number
            case "keys": keys = try reader.base64IfAny() ?? []
            case "statement": statement = try reader.base64IfAny() ?? []
            default: try reader.skipValue()
            }
        }
    }
}

extension JSONWriter {
    mutating func pair(_ key: StaticString, _ protection: Protection?) {
        guard let protection else { return }
        self.key(key)
        beginObject()
        pair("epoch", Int64(protection.epoch))
        if !protection.keys.isEmpty { pair("keys", base64: protection.keys) }
        if !protection.statement.isEmpty { pair("statement", base64: protection.statement) }
        endObject()
    }
}
