/// The 32 random bytes from which every key of an account comes.
///
/// The first device makes them; they leave a device wrapped only. A change of the password wraps them again; the data stay.
package struct AccountSecret: Equatable, Sendable {
    private let material: KeyMaterial

    /// A new account's, or a new one after a reset that loses everything encrypted (B-ZN-12).
    package init(random: Randomness = .system) { material = random.key() }

    /// As this device keeps it.
    /// - Throws: `malformed` unless there are 32 bytes.
    package init(bytes: [UInt8]) throws(EncryptionError) {
        guard bytes.count == KeyMaterial.byteCount else { throw .malformed(.accountSecret, reason: "it has 32 bytes") }
        material = KeyMaterial(bytes)
    }

    /// For this device's private files only.
    package var bytes: [UInt8] { material.bytes }

    /// Returns the form that the cloud stores: 61 bytes.
    /// - Parameter account: the account's id, the same for every device and at every time.
    package func sealed(
        under key: WrappingKey, account: String, random: Randomness = .system
    ) throws(EncryptionError) -> [UInt8] {
        try key.material.seal(
            bytes, header: [1], authenticating: Self.place(key.purpose, account), item: .accountSecret, random: random)
    }

    /// Opens what `sealed` made.
    /// - Throws: `doesNotOpen` for another password, recovery key or account.
    package init(sealed: [UInt8], under key: WrappingKey, account: String) throws(EncryptionError) {
        var reader = ByteReader(sealed, of: .accountSecret)
        try reader.takeVersion()
        material = try key.material.unwrap(
            reader.takeRest(), authenticating: Self.place(key.purpose, account), item: .accountSecret)
    }

    private static func place(_ purpose: WrappingKey.Purpose, _ account: String) -> Frame {
        var frame = Frame("welkin account secret 1")
        frame.append(purpose.rawValue)
        frame.append(account)
        return frame
    }

    /// The account's signing and agreement keys.
    package func identity() throws(EncryptionError) -> AccountIdentity {
        try AccountIdentity(
            signing: material.derive(Frame("welkin identity signing 1")),
            agreement: material.derive(Frame("welkin identity agreement 1")))
    }

    /// The root of everything the account owns in one container and environment.
    package func root(container: String, environment: String) -> ContainerRoot {
        var info = Frame("welkin container root 1")
        info.append(container)
        info.append(environment)
        return ContainerRoot(container: container, environment: environment, material: material.derive(info))
    }
}
