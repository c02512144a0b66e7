import CloudKitModel
import CloudKitRecordLayer
import Crypto

/// The device whose notifications a long-poll URL returns to any holder of the URL.
struct CourierAddress: Hashable, Sendable {
    var container: ContainerID
    var environment: Environment
    var user: UserID
    /// SHA-256 of the device's token.
    var hash: [UInt8]
    /// The session in which the token was made: the address is good no longer than that; empty: made without one.
    var sessionID: String

    var partition: StoragePartition { .privateDatabase(container, environment, of: user) }
}

/// Seals and opens long-poll addresses, which only this cloud can make and read.
struct CourierAddressSeal: Sendable {
    private let key: SymmetricKey
    private let random: @Sendable (Int) -> [UInt8]

    init(surroundings: Surroundings) {
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: surroundings.secret), info: Array("welkin courier address 1".utf8),
            outputByteCount: 32)
        random = surroundings.random
    }

    /// Letters, digits, `-` and `_`, so that nothing needs escaping.
    func seal(_ address: CourierAddress) throws -> String {
        let nonce = try AES.GCM.Nonce(data: random(12))
        let place = [
            address.container.name, address.environment.rawValue, address.user.recordName, address.sessionID,
        ]
        let plain = address.hash + Array(place.joined(separator: "\u{0}").utf8)
        let box = try AES.GCM.seal(plain, using: key, nonce: nonce)
        return Base64URL.encode(Array(box.nonce) + Array(box.ciphertext) + Array(box.tag))
    }

    /// nil for anything but an address made here.
    func open(_ text: some StringProtocol) -> CourierAddress? {
        guard text.utf8.count <= Self.bytesMax, let bytes = Base64URL.decode(String(text)),
            let box = try? AES.GCM.SealedBox(combined: bytes), let plain = try? AES.GCM.open(box, using: key),
            plain.count > Self.hashBytes
        else { return nil }
        let place = String(decoding: plain.dropFirst(Self.hashBytes), as: UTF8.self)
            .split(separator: "\u{0}", omittingEmptySubsequences: false).map(String.init)
        guard place.count == 4, let environment = Environment(rawValue: place[1]) else { return nil }
        return CourierAddress(
            container: ContainerID(place[0]), environment: environment, user: UserID(place[2]),
            hash: Array(plain.prefix(Self.hashBytes)), sessionID: place[3])
    }

    private static let hashBytes = 32
    private static let bytesMax = 2048
}
