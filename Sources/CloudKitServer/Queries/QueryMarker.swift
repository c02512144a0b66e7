import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer
import Crypto
import TextEncodings

/// Makes continuation markers that only this cloud can make and read, each valid for one query, which is one caller's outside of the public database
/// (B-QRY-18).
///
/// A marker holds a place in an index, which may be that of a record the caller must not see: so it is sealed, not just
/// signed.
package struct QueryMarkerSeal: Sendable {
    private let codec: SealedTokenCodec

    /// Creates the codec with a key derived from the cloud's secret.
    package init(_ serverEnvironment: ServerEnvironment) {
        codec = SealedTokenCodec(purpose: "welkin query marker 1", in: serverEnvironment, derivation: .hmac)
    }

    /// Returns the marker of a position.
    ///
    /// - Parameter query: The query that the marker is bound to.
    package func seal(_ position: QueryPosition, for query: QueryFingerprint) throws -> String {
        let encoded = position.encoded
        // Standard base64 without padding takes a multiple of three bytes: the first one gives the number of those to skip.
        let padding = 2 - (encoded.count + SealedTokenCodec.overhead) % 3
        let payload = [UInt8(padding)] + [UInt8](repeating: 0, count: padding) + encoded
        return Base64.encode(try codec.seal(payload, context: query.bytes))
    }

    /// Returns the position of a marker.
    ///
    /// - Throws: `badRequest` for a text that was not made here for this query.
    package func open(_ text: String, for query: QueryFingerprint) throws(RequestFailure) -> QueryPosition {
        guard let bytes = Base64.decode(text), let payload = codec.open(bytes, context: query.bytes),
            let padding = payload.first,
            let position = QueryPosition(decoding: Array(payload.dropFirst(1 + Int(padding))))
        else {
            throw RequestFailure(
                .badRequest, "Invalid continuation marker", remedy: "Repeat the query of the marker, or start again.")
        }
        return position
    }
}

/// The fingerprint of a caller, but in the public database, a database, zones and a query to which a continuation marker belongs, in 32 bytes.
package struct QueryFingerprint: Hashable, Sendable {
    /// The 32 bytes.
    package let bytes: [UInt8]

    init(_ request: QueryRecordsRequest, in place: DatabaseContext) throws(RequestFailure) {
        var digest = SHA256()
        func add(_ text: String?) {
            // Lengths keep neighbours apart.
            digest.update(data: Array("\(text?.utf8.count ?? -1):\(text ?? "")".utf8))
        }
        add(place.tokenPartition.name)
        add(place.scope.word)
        // Users may sign in or out while they read public records; what they may read is checked for each page.
        add(place.scope == .public ? nil : place.caller.user?.recordName)
        add(request.zoneID?.zoneName)
        add(request.zoneWide ? "all" : nil)
        add(request.query.recordType)
        for filter in request.query.filters {
            add("filter")
            add(filter.key.fingerprint)
            add(filter.comparator.rawValue)
            add(filter.distance.map { "\($0)" })
            add(String(decoding: try filter.value.json(), as: UTF8.self))
        }
        for sort in request.query.sorts {
            add("sort")
            add(sort.key.fingerprint)
            add(sort.ascending ? "up" : "down")
            add(sort.relativeLocation.map { "\($0.latitude) \($0.longitude)" })
        }
        bytes = Array(digest.finalize())
    }
}

extension QueryKey {
    fileprivate var fingerprint: String {
        switch self {
        case .field(let name): "f" + name
        case .system(let field): "s" + field.rawValue
        case .anySearchable: "*"
        }
    }
}
