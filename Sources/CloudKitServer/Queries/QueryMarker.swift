import CloudKitModel
import CloudKitRecordLayer
import Crypto

/// Makes continuation markers that only this cloud can make and read, each good for one query of one caller (B-QRY-18).
///
/// A marker holds a place in an index, which may be that of a record the caller must not see: so it is sealed, not just
/// signed.
package struct QueryMarkerSeal: Sendable {
    private let key: SymmetricKey
    private let random: @Sendable (Int) -> [UInt8]

    private static let nonceBytes = 12
    private static let overhead = nonceBytes + 16

    package init(surroundings: Surroundings) {
        let code = HMAC<SHA256>.authenticationCode(
            for: Array("welkin query marker 1".utf8), using: SymmetricKey(data: surroundings.secret))
        key = SymmetricKey(data: Array(code))
        random = surroundings.random
    }

    /// - Parameter query: What the marker is bound to (`QueryFingerprint`).
    package func seal(_ position: QueryPosition, for query: QueryFingerprint) throws -> String {
        let encoded = position.encoded
        // Opaque texts hold a multiple of three bytes: the first one says how many of the next to pass over.
        let padding = 2 - (encoded.count + Self.overhead) % 3
        let plain = [UInt8(padding)] + [UInt8](repeating: 0, count: padding) + encoded
        let nonce = try AES.GCM.Nonce(data: random(Self.nonceBytes))
        let box = try AES.GCM.seal(plain, using: key, nonce: nonce, authenticating: query.bytes)
        return OpaqueText.encode(Array(nonce) + Array(box.ciphertext) + Array(box.tag))
    }

    /// - Throws: `badRequest` for what this cloud did not make for this query.
    package func open(_ text: String, for query: QueryFingerprint) throws(RequestFailure) -> QueryPosition {
        guard let bytes = OpaqueText.decode(text), bytes.count > Self.overhead,
            let box = try? AES.GCM.SealedBox(combined: bytes),
            let plain = try? AES.GCM.open(box, using: key, authenticating: query.bytes),
            let padding = plain.first,
            let position = QueryPosition(decoding: Array(plain.dropFirst(1 + Int(padding))))
        else {
            throw RequestFailure(
                .badRequest, "Invalid continuation marker", remedy: "Repeat the query of the marker, or start again.")
        }
        return position
    }
}

/// The fingerprint of a caller, a database, zones and a query to which a continuation marker belongs, in 32 bytes.
package struct QueryFingerprint: Hashable, Sendable {
    /// The 32 bytes.
    package let bytes: [UInt8]

    init(_ request: QueryRecordsRequest, in place: DatabasePlace) throws(RequestFailure) {
        var digest = SHA256()
        func add(_ text: String?) {
            // Lengths keep neighbours apart.
            digest.update(data: Array("\(text?.utf8.count ?? -1):\(text ?? "")".utf8))
        }
        add(place.tokenPartition.name)
        add(place.scope.word)
        add(place.caller.user?.recordName)
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
