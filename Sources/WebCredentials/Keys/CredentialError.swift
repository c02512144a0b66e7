/// The reason why something signed is not accepted. It has no secret and no value of the person's.
package enum CredentialError: Error, Hashable, Sendable, CustomStringConvertible {
    /// It cannot be read.
    case malformed(String)
    /// An algorithm that is not accepted, or not for this key.
    case algorithm
    /// The signature is not one of the key.
    case signature
    /// A claim is not the expected one.
    case claim(String)
    /// No key of the issuer has the name that the signature gives.
    case unknownKey

    /// The reason, in a few words.
    package var description: String {
        switch self {
        case .malformed(let reason): "it is malformed: \(reason)"
        case .algorithm: "its algorithm is not accepted"
        case .signature: "its signature is wrong"
        case .claim(let name): "its \(name) is not the expected one"
        case .unknownKey: "its key is not one of the issuer's"
        }
    }
}
