import CloudKitAccounts
import CloudKitRecordLayer
import Crypto

/// Seals the addresses by which push services know devices: without the cloud's secret, a reader of the store cannot send there.
struct PushAddressSeal: Sendable {
    private let codec: SealedTokenCodec
    private let identityKey: SymmetricKey

    private static let format: UInt8 = 1

    init(_ serverEnvironment: ServerEnvironment) {
        codec = SealedTokenCodec(purpose: "welkin push address 1", in: serverEnvironment)
        identityKey = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: serverEnvironment.secret),
            info: Array("welkin push address identity 1".utf8), outputByteCount: 32)
    }

    /// Returns the sealed address, valid in this partition and for this service alone.
    func seal(_ address: PushAddress, service: String, in partition: StoragePartition) throws -> [UInt8] {
        try codec.seal(
            [Self.format] + Self.framed(address.identity) + address.bytes, context: Self.context(service, partition))
    }

    /// Returns the address, or nil for bytes that were not sealed here for this service and partition.
    func open(_ sealed: [UInt8], service: String, in partition: StoragePartition) -> PushAddress? {
        guard let plain = codec.open(sealed, context: Self.context(service, partition)), plain.count >= 3,
            plain.first == Self.format
        else { return nil }
        let bytes = Array(plain.dropFirst())
        let count = Int(bytes[0]) << 8 | Int(bytes[1])
        guard bytes.count >= 2 + count else { return nil }
        return PushAddress(
            bytes: Array(bytes[(2 + count)...]), identity: String(decoding: bytes[2..<(2 + count)], as: UTF8.self))
    }

    /// Returns 16 bytes that are the same for the same address of a service, and show nothing of it without the secret.
    func identity(of address: PushAddress, service: String) -> [UInt8] {
        let text = service + "\u{0}" + address.identity
        return Array(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: identityKey).prefix(16))
    }

    private static func context(_ service: String, _ partition: StoragePartition) -> [UInt8] {
        Array("\(service)\u{0}\(partition.name)".utf8)
    }

    /// Returns a text with its length in front; identities are shorter than addresses.
    private static func framed(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8.prefix(Int(UInt16.max)))
        return [UInt8(bytes.count >> 8), UInt8(bytes.count & 255)] + bytes
    }
}
