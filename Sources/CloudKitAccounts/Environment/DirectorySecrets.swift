import IdentityDirectory
import Synchronization

/// The secret keys of a cloud's directory, which follow from the cloud's secret.
struct DirectorySecrets: Sendable {
    /// Signs heads.
    let signing: [UInt8]
    /// Computes indices.
    let function: VerifiableRandomFunction
    /// The public halves.
    let keys: DirectoryKeys
    private let opening: [UInt8]

    /// - Parameter secret: The cloud's.
    init(secret: [UInt8]) {
        func derived(_ purpose: String) -> [UInt8] {
            DirectoryHash(of: HashInput(purpose).bytes, key: secret).bytes
        }
        signing = derived("welkin directory signing key 1")
        function = VerifiableRandomFunction(seed: derived("welkin directory index key 1"))
        opening = derived("welkin directory opening key 1")
        // An Ed25519 key is the same point for the same seed.
        keys = DirectoryKeys(signing: VerifiableRandomFunction(seed: signing).publicKey, function: function.publicKey)
    }

    /// Returns the value that opens a version of an entry.
    func opening(_ index: DirectoryIndex, version: UInt64) -> [UInt8] {
        opening("welkin directory entry opening 1", index, version)
    }

    /// Returns the value that opens a version of an entry's list of devices.
    func devicesOpening(_ index: DirectoryIndex, version: UInt64) -> [UInt8] {
        opening("welkin directory devices opening 1", index, version)
    }

    private func opening(_ purpose: String, _ index: DirectoryIndex, _ version: UInt64) -> [UInt8] {
        var frame = HashInput(purpose)
        frame.append(index.bytes)
        frame.append(version)
        return DirectoryHash(of: frame.bytes, key: opening).bytes
    }
}

/// The secret keys of the directory, computed when they are needed for the first time.
final class LazyDirectorySecrets: Sendable {
    private let secret: [UInt8]
    private let held = Mutex<DirectorySecrets?>(nil)

    /// - Parameter secret: The cloud's.
    init(secret: [UInt8]) { self.secret = secret }

    /// The keys.
    var value: DirectorySecrets {
        held.withLock { held in
            if let held { return held }
            let made = DirectorySecrets(secret: secret)
            held = made
            return made
        }
    }
}
