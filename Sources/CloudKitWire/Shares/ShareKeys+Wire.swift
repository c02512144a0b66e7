import CloudKitModel
import JSONBytes

/// Keys of shares: native surface only.
extension ShareKeys {
    /// `{keyEpoch, needsNewEpoch, waiting: [participantId], epochs: [{epoch, blob, link, wrap, statement}]}`.
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writePairs(to: &writer)
        writer.pair("waiting", waiting.isEmpty ? nil : waiting)
        writer.endObject()
    }

    fileprivate func writePairs(to writer: inout JSONWriter) {
        writer.pair("keyEpoch", Int64(epoch))
        if needsNewEpoch { writer.pair("needsNewEpoch", true) }
        writer.key("epochs")
        writer.beginArray()
        for epoch in epochs {
            writer.beginObject()
            writer.pair("epoch", Int64(epoch.epoch))
            writer.pair("blob", base64: epoch.blob)
            writer.pair("link", base64: epoch.link)
            writer.pair("wrap", base64: epoch.wrap)
            writer.pair("statement", base64: epoch.statement)
            writer.endObject()
        }
        writer.endArray()
    }

    init(reading reader: inout JSONReader) throws {
        self.init(epoch: 0)
        try reader.object { reader, key in
            if key == "waiting" {
                waiting = try reader.stringsIfAny() ?? []
            } else if try !readPair(key, &reader) {
                try reader.skipValue()
            }
        }
    }

    fileprivate mutating func readPair(_ key: JSONText, _ reader: inout JSONReader) throws -> Bool {
        switch key {
        case "keyEpoch": epoch = try reader.intIfAny() ?? 0
        case "needsNewEpoch": needsNewEpoch = try reader.boolIfAny() ?? false
        case "epochs": try reader.array { epochs.append(try ShareKeyEpoch(reading: &$0)) }
        default: return false
        }
        return true
    }
}

extension ShareKeyEpoch {
    fileprivate init(reading reader: inout JSONReader) throws {
        self.init(epoch: 0)
        try reader.object { reader, key in
            switch key {
            case "epoch": epoch = try reader.intIfAny() ?? 0
            case "blob": blob = try reader.base64IfAny()
            case "link": link = try reader.base64IfAny()
            case "wrap": wrap = try reader.base64IfAny()
            case "statement": statement = try reader.base64IfAny()
            default: try reader.skipValue()
            }
        }
    }
}

extension ShareKeyChange {
    /// `{epoch, begins, blob, link, wraps: [{participantId, wrap, identity}], statement: {counter, value}}`.
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.pair("epoch", Int64(epoch))
        if let begins { writer.pair("begins", begins) }
        writer.pair("blob", base64: blob)
        writer.pair("link", base64: link)
        writer.key("wraps")
        writer.beginArray()
        for wrap in wraps {
            writer.beginObject()
            writer.pair("participantId", wrap.participantID)
            writer.pair("wrap", base64: wrap.bytes)
            writer.pair("identity", wrap.identity)
            writer.endObject()
        }
        writer.endArray()
        if let statement {
            writer.key("statement")
            writer.beginObject()
            writer.pair("counter", Int64(statement.counter))
            writer.pair("value", base64: statement.bytes)
            writer.endObject()
        }
        writer.endObject()
    }

    init(reading reader: inout JSONReader) throws {
        self.init(epoch: 0)
        try reader.object { reader, key in
            switch key {
            case "epoch": epoch = try reader.intIfAny() ?? 0
            case "statement": if try !reader.readNull() { statement = try Statement(reading: &reader) }
            case "begins": begins = try reader.boolIfAny()
            case "blob": blob = try reader.base64IfAny()
            case "link": link = try reader.base64IfAny()
            case "wraps":
                if try reader.readNull() { return }
                try reader.array { wraps.append(try Wrap(reading: &$0)) }
            default: try reader.skipValue()
            }
        }
    }
}

extension ShareKeyChange.Statement {
    fileprivate init(reading reader: inout JSONReader) throws {
        var counter: Int?
        var bytes: [UInt8]?
        try reader.object { reader, key in
            switch key {
            case "counter": counter = try reader.intIfAny()
            case "value": bytes = try reader.base64IfAny()
            default: try reader.skipValue()
            }
        }
        guard let counter else { throw RequestFailure.missing("counter") }
        guard let bytes else { throw RequestFailure.missing("value") }
        self.init(counter: counter, bytes: bytes)
    }
}

extension ShareKeyChange.Wrap {
    fileprivate init(reading reader: inout JSONReader) throws {
        var id: String?
        var bytes: [UInt8]?
        var identity: String?
        try reader.object { reader, key in
            switch key {
            case "participantId": id = try reader.stringIfAny()
            case "wrap": bytes = try reader.base64IfAny()
            case "identity": identity = try reader.stringIfAny()
            default: try reader.skipValue()
            }
        }
        guard let id else { throw RequestFailure.missing("participantId") }
        guard let bytes else { throw RequestFailure.missing("wrap") }
        self.init(participantID: id, bytes: bytes, identity: identity)
    }
}

extension ShareKeysRequest {
    /// Reads the body of `shares/keys/lookup`: `{zoneID, recordName, before}`.
    ///
    /// - Throws: `badRequest`; `sizeLimitExceeded` beyond `limits`.
    package init(wire bytes: [UInt8], limits: WireLimits) throws(RequestFailure) {
        self = try WireBody.request(bytes, limits: limits) { reader in
            var request = ShareKeysRequest(zoneID: .default, recordName: "")
            try reader.object { reader, key in
                switch key {
                case "zoneID": request.zoneID = try reader.zoneIDIfAny() ?? .default
                case "recordName": request.recordName = try reader.string()
                case "before": request.before = try reader.intIfAny()
                default: try reader.skipValue()
                }
            }
            return request
        }
    }

    /// Returns the body in the form of web services.
    package func wire() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.pair("zoneID", zoneID)
        writer.pair("recordName", recordName)
        writer.pair("before", before.map(Int64.init))
        writer.endObject()
        return writer.bytes
    }
}

extension StoreShareKeysRequest {
    /// Reads the body of `shares/keys/store`: `{zoneID, recordName, shareKeys: {epoch, begins, blob, link, wraps, statement}}`.
    ///
    /// - Throws: `badRequest`; `sizeLimitExceeded` beyond `limits`.
    package init(wire bytes: [UInt8], limits: WireLimits) throws(RequestFailure) {
        self = try WireBody.request(bytes, limits: limits) { reader in
            var request = StoreShareKeysRequest(zoneID: .default, recordName: "", change: ShareKeyChange(epoch: 0))
            try reader.object { reader, key in
                switch key {
                case "zoneID": request.zoneID = try reader.zoneIDIfAny() ?? .default
                case "recordName": request.recordName = try reader.string()
                case "shareKeys": request.change = try ShareKeyChange(reading: &reader)
                default: try reader.skipValue()
                }
            }
            return request
        }
    }

    /// Returns the body in the form of web services.
    package func wire() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.pair("zoneID", zoneID)
        writer.pair("recordName", recordName)
        writer.key("shareKeys")
        change.write(to: &writer)
        writer.endObject()
        return writer.bytes
    }
}

extension ShareKeysAnswer {
    /// `{keyEpoch, needsNewEpoch, epochs: […], waiting: [participant…], moreComing}`.
    package func wireAnswer(style: WireStyle) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        keys.writePairs(to: &writer)
        writer.key("waiting")
        writer.beginArray()
        for participant in waiting { participant.write(to: &writer, style: style) }
        writer.endArray()
        writer.pair("moreComing", moreComing)
        writer.endObject()
        return writer.bytes
    }

    /// Reads the answer of `shares/keys/lookup` or `shares/keys/store`.
    ///
    /// - Throws: `internalError` if it cannot be read.
    package init(wireAnswer bytes: [UInt8]) throws(RequestFailure) {
        self = try WireBody.answer(bytes) { reader in
            var answer = ShareKeysAnswer(keys: ShareKeys(epoch: 0))
            try reader.object { reader, key in
                switch key {
                case "waiting": try reader.array { answer.waiting.append(try ShareParticipant(reading: &$0)) }
                case "moreComing": answer.moreComing = try reader.bool()
                default: if try !answer.keys.readPair(key, &reader) { try reader.skipValue() }
                }
            }
            answer.keys.waiting = answer.waiting.map(\.id)
            return answer
        }
    }
}

extension Array where Element == ShareParticipant {
    /// Prints the answer of `users/lookup/participants`: `{participants: […]}` in the order asked.
    package func wireAnswer(style: WireStyle) -> [UInt8] {
        WireBody.list("participants", self) { $0.write(to: &$1, style: style) }
    }

    /// Reads the answer of `users/lookup/participants`.
    ///
    /// - Throws: `internalError` if it cannot be read.
    package init(wireAnswer bytes: [UInt8]) throws(RequestFailure) {
        self = try WireBody.answerList("participants", bytes) { try ShareParticipant(reading: &$0) }
    }
}
