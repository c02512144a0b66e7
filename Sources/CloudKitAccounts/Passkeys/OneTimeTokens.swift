import CloudKitModel
import CloudKitRecordLayer
import Crypto

/// Tokens that the cloud gives out without keeping them, and accepts once within a time: challenges for passkeys.
struct OneTimeTokens: Sendable {
    private let codec: SealedTokenCodec
    private let random: @Sendable (Int) -> [UInt8]

    /// Milliseconds for which a token is accepted.
    static let lifetime: Int64 = 10 * 60_000
    private static let randomBytes = 16
    private static let checkBytes = 16

    init(purpose: String, in serverEnvironment: ServerEnvironment) {
        codec = SealedTokenCodec(purpose: purpose, in: serverEnvironment)
        random = serverEnvironment.random
    }

    /// Returns a token.
    ///
    /// - Parameters:
    ///   - context: What the token is for; it is accepted for nothing else.
    ///   - now: Milliseconds since 1970.
    func make(for context: String, now: Int64) -> [UInt8] {
        let expires = UInt64(now + Self.lifetime)
        let payload = random(Self.randomBytes) + (0..<8).map { UInt8(truncatingIfNeeded: expires >> (56 - 8 * $0)) }
        return codec.sign(payload, context: Array(context.utf8), checkBytes: Self.checkBytes)
    }

    /// Accepts a token, once.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - context: What it has to be for.
    ///   - now: Milliseconds since 1970.
    ///   - transaction: Notes that the token was used.
    /// - Returns: false for one that was not given out for this, is expired or was used.
    func accept(
        _ token: [UInt8], for context: String, now: Int64, in transaction: inout StorageWriter
    ) async throws -> Bool {
        guard token.count == Self.randomBytes + 8 + Self.checkBytes,
            let payload = codec.verify(token, context: Array(context.utf8), checkBytes: Self.checkBytes)
        else { return false }
        let expires = Int64(truncatingIfNeeded: payload.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
        guard now < expires else { return false }
        return try await transaction.spend(SHA256.hash(data: token).hex, until: expires, now: now)
    }
}

/// The note that a token was used, until it would be expired.
struct SpentToken: StoredRow {
    /// Milliseconds since 1970.
    var expires: Int64

    /// end, token → `SpentToken`
    static let table = RowTable<String, SpentToken>("spent-token")
    /// Expired notes that one use of a token removes.
    private static let removedMax = 20

    /// Keys are in the order of their ends.
    static func key(_ name: String, until expires: Int64) -> String {
        let digits = String(max(0, expires))
        return String(repeating: "0", count: max(0, 16 - digits.count)) + digits + "-" + name
    }

    /// Removes notes that have no use any more.
    static func removeExpired(now: Int64, in transaction: inout StorageWriter) async throws {
        for (key, row) in try await table.page(prefix: "", limit: removedMax, in: transaction) where row.expires <= now
        {
            table.clear(key, in: &transaction)
        }
    }
}

extension StorageWriter {
    /// Notes the use of something that is used once.
    ///
    /// - Parameters:
    ///   - name: Its name, which is no secret.
    ///   - expires: The time after which nobody would accept it; milliseconds since 1970.
    ///   - now: Milliseconds since 1970.
    /// - Returns: false if it was used before.
    mutating func spend(_ name: String, until expires: Int64, now: Int64) async throws -> Bool {
        let key = SpentToken.key(name, until: expires)
        guard try await SpentToken.table.row(key, in: self) == nil else { return false }
        try await SpentToken.removeExpired(now: now, in: &self)
        try SpentToken.table.set(key, to: SpentToken(expires: expires), in: &self)
        return true
    }
}
