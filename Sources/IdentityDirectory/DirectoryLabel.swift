/// The name under which the directory holds an entry, from which its index is computed.
package enum DirectoryLabel: Hashable, Sendable {
    /// An account, by its normalised address.
    case address(String)
    /// A user of a container, by the name of the user's record.
    case user(String, container: String)

    /// The input of the verifiable random function.
    package var input: [UInt8] {
        switch self {
        case .address(let address):
            var frame = HashInput("welkin directory address 1")
            frame.append(address)
            return frame.bytes
        case .user(let user, let container):
            var frame = HashInput("welkin directory user 1")
            frame.append(container)
            frame.append(user)
            return frame.bytes
        }
    }

    /// Returns the index that a proof of the verifiable random function gives the label.
    ///
    /// - Throws: `DirectoryError.wrongIndex` for a proof that is not of this label and key.
    package func index(proof: [UInt8], functionKey: [UInt8]) throws(DirectoryError) -> DirectoryIndex {
        guard let output = VerifiableRandomFunction.verify(proof, of: input, publicKey: functionKey),
            let index = DirectoryIndex(output.prefix(DirectoryIndex.byteCount))
        else { throw .wrongIndex }
        return index
    }
}
