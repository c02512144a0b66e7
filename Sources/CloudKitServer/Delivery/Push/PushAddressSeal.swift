import CloudKitRecordLayer
import Crypto

/// Seals the addresses of devices at push services: a reader of the store without the cloud's secret cannot send there.
struct PushAddressSeal: Sendable {
    private let key: SymmetricKey
    private let identityKey: SymmetricKey
    private let random: @Sendable (Int) -> [UInt8]

    init(surroundings: Surroundings) {
        func derive(_ purpose: String) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: surroundings.secret), info: Array(purpose.utf8),
                outputByteCount: 32)
        }
        key = derive("welkin push address 1")
        identityKey = derive("welkin push address identity 1")
        random = surroundings.random
    }

    /// The address, good in this partition and for this service alone.
    func seal(_ address: PushAddress, service: String, in partition: StoragePartition) throws -> [UInt8] {
        let nonce = try AES.GCM.Nonce(data: random(12))
        let plain = [UInt8(1)] + Self.framed(address.identity) + address.bytes
        let box = try AES.GCM.seal(plain, using: key, nonce: nonce, authenticating: Self.place(service, partition))
        return Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
    }

    /// nil for anything but an address sealed here for this place.
    func open(_ sealed: [UInt8], service: String, in partition: StoragePartition) -> PushAddress? {
        guard let box = try? AES.GCM.SealedBox(combined: sealed),
            let plain = try? AES.GCM.open(box, using: key, authenticating: Self.place(service, partition)),
            plain.count >= 3, plain.first == 1
        else { return nil }
        let bytes = Array(plain.dropFirst())
        let count = Int(bytes[0]) << 8 | Int(bytes[1])
        guard bytes.count >= 2 + count else { return nil }
        return PushAddress(
            bytes: Array(bytes[(2 + count)...]), identity: String(decoding: bytes[2..<(2 + count)], as: UTF8.self))
    }

    /// Returns an identifier that is equal for equal addresses of a service, and meaningless without the secret.
    func identity(of address: PushAddress, service: String) -> [UInt8] {
        let text = service + "\u{0}" + address.identity
        return Array(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: identityKey).prefix(16))
    }

    private static func place(_ service: String, _ partition: StoragePartition) -> [UInt8] {
        Array("\(service)\u{0}\(partition.name)".utf8)
    }

    /// With its length in front; identities are shorter than addresses.
    private static func framed(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8.prefix(Int(UInt16.max)))
        return [UInt8(bytes.count >> 8), UInt8(bytes.count & 255)] + bytes
    }
}
