import CloudKitModel
import JSONBytes

/// The request of `directory/lookup` (docs/directory.md).
package struct DirectoryLookupRequest: Hashable, Sendable {
    /// Addresses whose entries are asked for.
    package var addresses: [String]
    /// Users of the container whose entries are asked for.
    package var users: [String]
    /// The numbers of earlier heads to which the newest head's history is to be proved.
    package var heads: [UInt64]

    /// Creates a request.
    package init(addresses: [String] = [], users: [String] = [], heads: [UInt64] = []) {
        self.addresses = addresses
        self.users = users
        self.heads = heads
    }

    /// Reads `{"addresses": […], "userRecordNames": […], "heads": […]}`.
    ///
    /// - Throws: `badRequest`; `itemLimitExceeded`, `sizeLimitExceeded` beyond `limits`.
    package init(wire bytes: [UInt8], limits: WireLimits) throws(RequestFailure) {
        self = try WireBody.request(bytes, limits: limits) { reader in
            var request = DirectoryLookupRequest()
            try reader.object { reader, key in
                switch key {
                case "addresses": request.addresses = try reader.items(limits: limits) { try $0.lookupText() }
                case "userRecordNames": request.users = try reader.items(limits: limits) { try $0.lookupText() }
                case "heads":
                    request.heads = try reader.items(limits: limits) { reader in
                        let number = try reader.int64()
                        guard number >= 0 else { throw RequestFailure(.badRequest, "a head's number is not negative") }
                        return UInt64(number)
                    }
                default: try reader.skipValue()
                }
            }
            return request
        }
    }

    /// Returns the body.
    package func wire() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.pair("addresses", addresses)
        writer.pair("userRecordNames", users)
        writer.key("heads")
        writer.beginArray()
        for head in heads { writer.int64(Int64(clamping: head)) }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }
}

/// The answer of `directory/lookup`; every part is bytes in the forms of docs/directory.md.
package struct DirectoryLookupAnswer: Hashable, Sendable {
    /// An earlier head and the proof that the newest one continues it.
    package struct EarlierHead: Hashable, Sendable {
        /// The head.
        package var head: [UInt8]
        /// The proof.
        package var proof: [UInt8]

        /// Creates the pair.
        package init(head: [UInt8], proof: [UInt8]) {
            self.head = head
            self.proof = proof
        }
    }

    /// The directory's public keys.
    package var keys: [UInt8]
    /// The newest head.
    package var head: [UInt8]
    /// A proof for each address, then one for each user.
    package var proofs: [[UInt8]]
    /// The earlier heads that exist, in the order asked.
    package var heads: [EarlierHead]

    /// Creates an answer.
    package init(keys: [UInt8], head: [UInt8], proofs: [[UInt8]], heads: [EarlierHead]) {
        self.keys = keys
        self.head = head
        self.proofs = proofs
        self.heads = heads
    }

    /// Returns the body.
    package func wireAnswer() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.pair("keys", base64: keys)
        writer.pair("head", base64: head)
        writer.key("proofs")
        writer.beginArray()
        for proof in proofs {
            writer.beginObject()
            writer.pair("proof", base64: proof)
            writer.endObject()
        }
        writer.endArray()
        writer.key("heads")
        writer.beginArray()
        for head in heads {
            writer.beginObject()
            writer.pair("head", base64: head.head)
            writer.pair("proof", base64: head.proof)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }

    /// - Throws: `internalError` if it cannot be read.
    package init(wireAnswer bytes: [UInt8]) throws(RequestFailure) {
        self = try WireBody.answer(bytes) { reader in
            var answer = DirectoryLookupAnswer(keys: [], head: [], proofs: [], heads: [])
            try reader.object { reader, key in
                switch key {
                case "keys": answer.keys = try reader.base64IfAny() ?? []
                case "head": answer.head = try reader.base64IfAny() ?? []
                case "proofs": try reader.array { answer.proofs.append(try EarlierHead(reading: &$0).proof) }
                case "heads": try reader.array { answer.heads.append(try EarlierHead(reading: &$0)) }
                default: try reader.skipValue()
                }
            }
            return answer
        }
    }
}

extension DirectoryLookupAnswer.EarlierHead {
    fileprivate init(reading reader: inout JSONReader) throws {
        self.init(head: [], proof: [])
        try reader.object { reader, key in
            switch key {
            case "head": head = try reader.base64IfAny() ?? []
            case "proof": proof = try reader.base64IfAny() ?? []
            default: try reader.skipValue()
            }
        }
    }
}
