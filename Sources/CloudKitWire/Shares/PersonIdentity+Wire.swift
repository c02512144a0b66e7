import CloudKitModel
import JSONBytes

/// Persons as shares name them: docs/web-services.md §3.5, and the additions of the native surface, `hasiCloudAccount`
/// and `publicIdentity`.
extension PersonIdentity {
    func write(to writer: inout JSONWriter, style: WireStyle) {
        writer.beginObject()
        writer.pair("userRecordName", user?.recordName)
        if givenName != nil || familyName != nil {
            writer.key("nameComponents")
            writer.beginObject()
            writer.pair("givenName", givenName)
            writer.pair("familyName", familyName)
            writer.endObject()
        }
        if let lookup {
            writer.key("lookupInfo")
            lookup.write(to: &writer)
        }
        if style.isNative {
            writer.pair("hasiCloudAccount", hasAccount)
            writer.pair("publicIdentity", base64: publicIdentity)
        }
        writer.endObject()
    }

    init(reading reader: inout JSONReader) throws {
        self.init()
        try reader.object { reader, key in
            if try reader.readNull() { return }
            switch key {
            case "userRecordName": user = UserID(try reader.string())
            case "lookupInfo": lookup = try LookupInfo(reading: &reader)
            case "publicIdentity": publicIdentity = try reader.base64IfAny()
            case "nameComponents":
                try reader.object { reader, key in
                    switch key {
                    case "givenName": givenName = try reader.stringIfAny()
                    case "familyName": familyName = try reader.stringIfAny()
                    default: try reader.skipValue()
                    }
                }
            default: try reader.skipValue()
            }
        }
    }
}

extension Array where Element == PersonIdentity {
    /// Prints the answer of `users/discover` (docs/web-services.md §11).
    package func wireAnswer(style: WireStyle) -> [UInt8] {
        WireBody.list("users", self) { person, writer in person.write(to: &writer, style: style) }
    }

    /// Prints the answer of the older look-ups, such as `users/lookup/email`.
    package func oldWireAnswer() -> [UInt8] {
        WireBody.list("users", self) { person, writer in
            writer.object { writer in
                writer.pair("userRecordName", person.user?.recordName)
                writer.pair("firstName", person.givenName)
                writer.pair("lastName", person.familyName)
                writer.pair("emailAddress", person.lookup?.emailAddress)
                writer.pair("phoneNumber", person.lookup?.phoneNumber)
            }
        }
    }

    /// Reads the answer of `users/discover`.
    ///
    /// - Throws: `internalError` if it cannot be read.
    package init(wireAnswer bytes: [UInt8]) throws(RequestFailure) {
        self = try WireBody.answerList("users", bytes) { try PersonIdentity(reading: &$0) }
    }
}

extension LookupInfo {
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.pair("emailAddress", emailAddress)
        writer.pair("phoneNumber", phoneNumber)
        writer.pair("userRecordName", user?.recordName)
        writer.pair("addressHash", base64: addressHash)
        writer.endObject()
    }

    init(reading reader: inout JSONReader) throws {
        self.init()
        try reader.object { reader, key in
            if try reader.readNull() { return }
            switch key {
            case "addressHash": addressHash = try reader.base64IfAny()
            case "emailAddress": emailAddress = try reader.lookupText()
            case "phoneNumber": phoneNumber = try reader.lookupText()
            case "userRecordName": user = UserID(try reader.lookupText())
            default: try reader.skipValue()
            }
        }
    }
}

extension JSONReader {
    /// An address, a number, a name or an id: short.
    mutating func lookupText() throws -> String {
        let text = try string()
        guard text.utf8.count <= LookupInfo.lengthMax else {
            throw RequestFailure(
                .badRequest, "BadRequestException: a name or address is too long",
                remedy: "Use at most \(LookupInfo.lengthMax) bytes.")
        }
        return text
    }
}

/// The requests of `users/lookup/participants` and of discovery.
package struct LookupParticipantsRequest: Hashable, Sendable {
    /// The attributes by which users are looked up.
    package var lookupInfos: [LookupInfo]

    /// Creates a request for these users.
    package init(_ lookupInfos: [LookupInfo]) { self.lookupInfos = lookupInfos }

    /// Reads `{"lookupInfos": […]}`, or `{"users": […]}` as older clients send it.
    ///
    /// - Throws: `badRequest`; `itemLimitExceeded`, `sizeLimitExceeded` beyond `limits`.
    package init(wire bytes: [UInt8], limits: WireLimits) throws(RequestFailure) {
        let infos = try WireBody.request(bytes, limits: limits) { reader in
            var infos: [LookupInfo] = []
            try reader.object { reader, key in
                switch key {
                case "lookupInfos", "users": infos = try reader.items(limits: limits) { try LookupInfo(reading: &$0) }
                default: try reader.skipValue()
                }
            }
            return infos
        }
        self.init(infos)
    }

    /// Returns the body in the form of web services.
    package func wire() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("lookupInfos")
        writer.beginArray()
        for info in lookupInfos { info.write(to: &writer) }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }
}
