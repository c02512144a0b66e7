import CloudKitModel
import JSONBytes

extension UserIdentity {
    /// Prints the answer of `users/caller`: the identity bare, and again in `users`, since clients read the one or the
    /// other (docs/web-services.md §11).
    package func wireAnswer() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writeKeys(to: &writer)
        writer.key("users")
        writer.beginArray()
        writer.object { writeKeys(to: &$0) }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }

    private func writeKeys(to writer: inout JSONWriter) {
        writer.pair("userRecordName", user.recordName)
        guard givenName != nil || familyName != nil else { return }
        writer.key("nameComponents")
        writer.beginObject()
        writer.pair("givenName", givenName)
        writer.pair("familyName", familyName)
        writer.endObject()
    }

    /// Reads the answer of `users/caller`, bare or in `users`.
    ///
    /// - Throws: `internalError` if it names no user.
    package init(wireAnswer bytes: [UInt8]) throws(RequestFailure) {
        let identity = try WireBody.answer(bytes) { try UserIdentity.read(&$0) }
        guard let identity else { throw .unreadableAnswer }
        self = identity
    }

    private static func read(_ reader: inout JSONReader) throws -> UserIdentity? {
        var result: UserIdentity?
        var listed: UserIdentity?
        var givenName: String?
        var familyName: String?
        try reader.object { reader, key in
            if try reader.readNull() { return }
            switch key {
            case "userRecordName": result = UserIdentity(user: UserID(try reader.string()))
            case "users":
                try reader.array { reader in
                    let user = try UserIdentity.read(&reader)
                    listed = listed ?? user
                }
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
        result?.givenName = givenName
        result?.familyName = familyName
        return result ?? listed
    }
}
