import Crypto
import Foundation
import OrderedStore

/// The note in a store of which secret it was made with, so that a store is never served with the secret of another cloud.
struct StoreOwner {
    let store: any PersistentStore

    /// The partition of the marks holds the fingerprint of the cloud's secret as well.
    private static let key: Bytes = [0x61]

    /// Whether the store is noted as that of another secret.
    func isOther(than secret: [UInt8]) async throws -> Bool {
        let noted = try await read()
        return noted != nil && noted != Self.fingerprint(of: secret)
    }

    /// Notes the secret in a store without an owner.
    func claim(_ secret: [UInt8]) async throws {
        guard try await read() == nil else { return }
        try await store.write(ServedMark.partition) { $0.set(Self.key, Self.fingerprint(of: secret)) }
    }

    private func read() async throws -> Bytes? {
        try await store.read(ServedMark.partition) { try await $0.get(Self.key) }
    }

    private static func fingerprint(of secret: [UInt8]) -> Bytes {
        Bytes(HMAC<SHA256>.authenticationCode(for: Data("welkin store".utf8), using: SymmetricKey(data: secret)))
    }
}
