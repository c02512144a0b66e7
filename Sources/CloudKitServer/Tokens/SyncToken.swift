import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer
import TextEncodings

/// The position up to which a client has followed a feed; opaque to it (B-CHG-02).
package struct SyncToken: Hashable, Sendable {
    /// The feed that a token belongs to.
    package enum Kind: UInt8, Hashable, Sendable, CaseIterable {
        /// A zone's feed, oldest change first.
        case zone
        /// A zone's feed on its way back, newest change first.
        case zoneReversed
        case database
        /// A zone's feed as one of its members reads it.
        case member

        /// A flag for tokens with a position within `version`.
        var hasFloor: Bool { self == .zoneReversed || self == .member }
    }

    /// The kind of the token.
    package var kind: Kind
    /// The zone's number, different in each incarnation (B-CHG-10); 0 for a database.
    package var zone: UInt32
    /// The newest entry seen; when reversed, the oldest.
    package var version: UInt64
    /// The newest version when the client began without a token: deletions up to it are not reported (B-CHG-08). When
    /// reversed, the version to continue from after the last page.
    package var baseline: UInt64
    /// When reversed: entries up to this version are known. A member's: many records share the position `version`, and
    /// those up to this one are known; 0: all of them.
    package var floor: UInt64

    /// Creates a token; a baseline that `version` has reached is dropped unless the token is reversed.
    package init(_ kind: Kind, zone: UInt32 = 0, version: UInt64, baseline: UInt64 = 0, floor: UInt64 = 0) {
        self.kind = kind
        self.zone = zone
        self.version = version
        self.baseline = baseline > version || kind == .zoneReversed ? baseline : 0
        self.floor = floor
    }

    /// Returns the token of a zone's feed at a version.
    package static func zone(_ number: UInt32, at version: UInt64) -> SyncToken {
        SyncToken(.zone, zone: number, version: version)
    }
}

/// A token as a client sent it.
struct SentSyncToken: Sendable {
    /// The position that the token stands for.
    let token: SyncToken
    fileprivate let text: String
}

/// Makes tokens that only this cloud can make, each good for one partition.
///
/// A token holds the store's epoch, so that after a restored backup it is known to be from before (B-BKD-13).
package struct SyncTokenSeal: Sendable {
    private let codec: SealedTokenCodec
    private let currentEpoch: @Sendable () -> UInt64
    private let restoredTo: @Sendable () -> Int64

    private static let epochBytes = 5
    private static let checkBytes = 12
    /// A 40-bit part of the epoch: stores are few, and what it guards against is not an attack.
    private var shownEpoch: UInt64 {
        let epoch = currentEpoch()
        return (epoch ^ epoch >> 40) & 0xFF_FFFF_FFFF
    }

    /// Creates the codec of a store's tokens with a key derived from its secret.
    package init(secret: [UInt8], epoch: UInt64) {
        self.init(secret: secret) { epoch }
    }

    /// Creates the codec of a store's tokens with a key derived from its secret.
    ///
    /// - Parameters:
    ///   - epoch: Returns the store's present epoch, which may be renewed while the cloud runs.
    ///   - restoredTo: Returns the time of the state with which the epoch began, for those who know a later one.
    package init(
        secret: [UInt8], epoch: @escaping @Sendable () -> UInt64, restoredTo: @escaping @Sendable () -> Int64 = { 0 }
    ) {
        codec = SealedTokenCodec(purpose: "welkin sync token 1", secret: secret, derivation: .hmac)
        currentEpoch = epoch
        self.restoredTo = restoredTo
    }

    /// The name of the store's present epoch, and the time of the state with which it began, in milliseconds since 1970; 0 if it is not known.
    var epoch: (name: String, restoredTo: Int64) { (String(shownEpoch, radix: 16), restoredTo()) }

    /// Returns the name of one incarnation of a zone, another one after the store was restored from a backup.
    func incarnation(ofZone number: UInt32) -> String {
        String(shownEpoch, radix: 16) + "-" + String(number, radix: 16)
    }

    /// Returns the token as text, bound to a partition.
    ///
    /// Clients of the web services decode it as standard base64. A token has a multiple of three bytes, and so no padding.
    package func seal(_ token: SyncToken, for partition: StoragePartition) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(token.kind.byteCount)
        bytes += token.kind.magic
        bytes.append(shownEpoch, bytes: Self.epochBytes)
        bytes.append(UInt64(token.zone), bytes: 4)
        bytes.append(token.version, bytes: 6)
        bytes.append(token.baseline, bytes: 6)
        if token.kind.hasFloor { bytes.append(token.floor, bytes: 6) }
        return Base64.encode(
            codec.sign(bytes, context: Array(partition.name.utf8), checkBytes: Self.checkBytes))
    }

    /// Returns the token as text: as the client sent it if its position is the same.
    func seal(_ token: SyncToken, for partition: StoragePartition, repeating sent: SentSyncToken?) -> String {
        if let sent, sent.token == token { return sent.text }
        return seal(token, for: partition)
    }

    /// Opens a token and keeps its text, for an answer that may repeat it; nil without one, or with an empty one.
    func openSent(
        _ text: String?, for partition: StoragePartition, kinds: [SyncToken.Kind]
    ) throws(RequestFailure) -> SentSyncToken? {
        guard let text, !text.isEmpty else { return nil }
        return SentSyncToken(token: try open(text, for: partition, kinds: kinds), text: text)
    }

    /// - Parameter kinds: The kinds that the caller can continue from.
    /// - Throws: `badRequest`, `Unknown sync continuation type`, for a token that this cloud did not make for this
    ///   partition and use; `Invalid continuation format` for a part of a token; `changeTokenExpired` for one of
    ///   another epoch.
    package func open(
        _ text: String, for partition: StoragePartition, kinds: [SyncToken.Kind]
    ) throws(RequestFailure) -> SyncToken {
        guard let kind = kinds.first(where: { text.isPart(ofMagic: $0.magicText) }) else { throw .unknownToken }
        guard let bytes = Base64.decode(text), bytes.count == kind.byteCount + Self.checkBytes else {
            throw .truncatedToken
        }
        guard
            let content = codec.verify(bytes, context: Array(partition.name.utf8), checkBytes: Self.checkBytes)
        else { throw .unknownToken }
        var reader = content[3...]
        guard reader.takeNumber(bytes: Self.epochBytes) == shownEpoch else {
            throw .tokenOfEarlierEpoch(restoredTo: restoredTo())
        }
        return SyncToken(
            kind, zone: UInt32(truncatingIfNeeded: reader.takeNumber(bytes: 4)),
            version: reader.takeNumber(bytes: 6), baseline: reader.takeNumber(bytes: 6),
            floor: kind.hasFloor ? reader.takeNumber(bytes: 6) : 0)
    }
}

extension SyncToken.Kind {
    /// The prefix of tokens of this kind: three bytes, four characters.
    fileprivate var magic: [UInt8] { [0xC4, 0x0B, rawValue + 1] }
    fileprivate var magicText: String { Self.magicTexts[Int(rawValue)] }
    private static let magicTexts = allCases.map { Base64.encode($0.magic) }
    fileprivate var byteCount: Int { hasFloor ? 30 : 24 }
}

extension String {
    /// Returns whether this begins with the prefix of a kind, or is a part of the prefix.
    fileprivate func isPart(ofMagic magic: String) -> Bool {
        hasPrefix(magic) || (!isEmpty && magic.hasPrefix(self))
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ number: UInt64, bytes count: Int) {
        for index in stride(from: count - 1, through: 0, by: -1) {
            append(UInt8(truncatingIfNeeded: number >> UInt64(8 * index)))
        }
    }
}

extension ArraySlice<UInt8> {
    fileprivate mutating func takeNumber(bytes count: Int) -> UInt64 {
        defer { removeFirst(count) }
        return prefix(count).reduce(0) { $0 << 8 | UInt64($1) }
    }
}

extension RequestFailure {
    /// docs/web-services.md §5.3.
    static let unknownToken = RequestFailure(
        .badRequest, "Unknown sync continuation type", remedy: "Fetch without a token.")

    static let truncatedToken = RequestFailure(
        .badRequest, "Invalid continuation format", remedy: "Fetch without a token.")

    /// B-CHG-09.
    static let tokenExpired = RequestFailure(
        .changeTokenExpired, "client knowledge differs from server knowledge",
        remedy: "Fetch without a token, and treat what does not come back as deleted.")

    /// A token of a later state than the store has: the store was replaced by an earlier state of itself, and its epoch has to be renewed.
    static let tokenAhead = restored(to: 0, remedy: "The cloud went back in time. " + saveAgain)

    /// B-BKD-13. Not equal to `tokenAhead`: the epoch was renewed already.
    ///
    /// - Parameter restoredTo: The time of the state that the store went back to, in milliseconds since 1970; 0 if it is not known.
    static func tokenOfEarlierEpoch(restoredTo: Int64) -> RequestFailure {
        restored(to: restoredTo, remedy: "The cloud was restored. " + saveAgain)
    }

    private static let saveAgain = "Save again what was saved since, then fetch without a token."

    private static func restored(to time: Int64, remedy: String) -> RequestFailure {
        var failure = RequestFailure(
            .changeTokenExpired, "client knowledge differs from server knowledge", remedy: remedy)
        failure.restoredTo = time
        return failure
    }
}
