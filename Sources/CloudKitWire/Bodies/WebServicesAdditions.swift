import JSONBytes

/// The keys and words of bodies that documented web services do not have (docs/web-services.md §17).
package enum WebServicesAdditions {
    private static let keys: Set<String> = [
        "addressHash", "allowsAccessRequests", "blockedIdentities", "clientChangeToken", "collapseIDKey",
        "deniedRequesters",
        "encryptionScope", "keyEpoch", "linkProof", "oneTime", "protection", "push", "shareKeys",
        "shouldSendMutableContent", "subtitle", "subtitleLocalizationArgs", "subtitleLocalizationKey", "title",
        "titleLocalizationArgs", "titleLocalizationKey", "unblockedIdentities", "wantsKeychain", "zoneState",
        "zoneStates",
    ]
    private static let words: Set<String> = ["raiseKeyEpoch", "WELKIN_NEVER"]

    /// Returns the first addition in a request's body; nil for none, also where the body is malformed.
    package static func first(in body: [UInt8]) -> String? {
        do {
            if !body.isEmpty { try withJSON(body) { try check(&$0) } }
            return nil
        } catch let found as Found {
            return found.name
        } catch {
            // The endpoint says where the body is malformed.
            return nil
        }
    }

    private struct Found: Error {
        var name: String
    }

    private static func check(_ reader: inout JSONReader) throws {
        switch try reader.peekKind() {
        case .object:
            try reader.object { reader, key in
                let key = key.string
                if keys.contains(key) { throw Found(name: key) }
                // An app names fields and chooses values as it likes.
                if key == "fields" || key == "fieldValue" { return try reader.skipValue() }
                guard key == "operationType" || key == "comparator", try reader.peekKind() == .string else {
                    return try check(&reader)
                }
                let word = try reader.string()
                if words.contains(word) { throw Found(name: word) }
            }
        case .array: try reader.array { try check(&$0) }
        default: try reader.skipValue()
        }
    }
}
