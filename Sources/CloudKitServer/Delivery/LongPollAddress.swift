import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer

/// The device whose notifications a long-poll URL gives: the holder of the URL may read them.
struct LongPollAddress: Hashable, Sendable {
    var container: ContainerID
    var environment: Environment
    var user: UserID
    /// SHA-256 of the device's token.
    var hash: [UInt8]
    /// The session in which the token was made: the address is good no longer than that; empty: made without one.
    var sessionID: String

    var partition: StoragePartition { .privateDatabase(container, environment, of: user) }
}

/// Seals long-poll addresses, so that only this cloud can make one or see whose it is, and opens them.
struct LongPollAddressSeal: Sendable {
    private let codec: SealedTokenCodec

    init(_ serverEnvironment: ServerEnvironment) {
        codec = SealedTokenCodec(purpose: "welkin courier address 1", in: serverEnvironment)
    }

    /// Returns the last part of the long-poll URL: letters, digits, `-` and `_`, which need no escaping.
    func seal(_ address: LongPollAddress) throws -> String {
        let place = [
            address.container.name, address.environment.rawValue, address.user.recordName, address.sessionID,
        ]
        return try codec.sealText(address.hash + Array(place.joined(separator: "\u{0}").utf8))
    }

    /// Returns the address, or nil for a text that was not sealed here.
    func open(_ text: some StringProtocol) -> LongPollAddress? {
        guard let plain = codec.openText(String(text), bytesMax: Self.bytesMax), plain.count > Self.hashBytes
        else { return nil }
        let place = String(decoding: plain.dropFirst(Self.hashBytes), as: UTF8.self)
            .split(separator: "\u{0}", omittingEmptySubsequences: false).map(String.init)
        guard place.count == 4, let environment = Environment(rawValue: place[1]) else { return nil }
        return LongPollAddress(
            container: ContainerID(place[0]), environment: environment, user: UserID(place[2]),
            hash: Array(plain.prefix(Self.hashBytes)), sessionID: place[3])
    }

    private static let hashBytes = 32
    private static let bytesMax = 2048
}
