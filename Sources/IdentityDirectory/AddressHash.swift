import Crypto

/// The hash by which devices look up people without sending their addresses (B-ACC-07).
///
/// Addresses can be guessed, so the hash hides those of an address book from a cloud that does not try; it does not make
/// them secret.
package enum AddressHash {
    /// The number of bytes.
    package static let byteCount = 32

    /// Returns the hash of an e-mail address or phone number.
    ///
    /// - Parameter normalised: The address in lower case, or the number in the form of E.164.
    package static func of(_ normalised: String) -> [UInt8] {
        Array(SHA256.hash(data: Array("welkin address 1\n\(normalised)".utf8)))
    }
}
