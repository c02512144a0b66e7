/// The reason why a proof, a head or a history of the directory is refused.
package enum DirectoryError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Bytes that are not of the form of docs/directory.md.
    case malformed(String)
    /// The index was not computed from this address or user name with the directory's key.
    case wrongIndex
    /// The proof leads to another root than the head's.
    case wrongRoot
    /// The entry is not the one that the leaf commits to.
    case wrongEntry
    /// The head is not signed by the directory's key.
    case badSignature
    /// The directory has other keys than this device knows.
    case keysReplaced
    /// Two heads are not of one history.
    case forked(one: UInt64, other: UInt64)
    /// The newest head is older than one that was seen before.
    case wentBack(newest: UInt64, seen: UInt64)
    /// A version of an entry is not the one after its previous version.
    case versionSkipped(head: UInt64)
    /// A part of the tree that is needed was not loaded.
    case incomplete

    /// A Boolean value that indicates whether a directory that was restored from a backup explains the error.
    package var isOfEarlierState: Bool {
        switch self {
        case .forked, .wentBack: true
        default: false
        }
    }

    /// A sentence that says what is wrong.
    package var description: String {
        switch self {
        case .malformed(let item): "The cloud's directory sent a malformed \(item)"
        case .wrongIndex: "A proof of the cloud's directory belongs to another address or user"
        case .wrongRoot: "A proof of the cloud's directory does not lead to its signed head"
        case .wrongEntry: "An entry of the cloud's directory is not the one that its tree commits to"
        case .badSignature: "A head of the cloud's directory is not signed by its key"
        case .keysReplaced: "The cloud's directory has other keys than before"
        case .forked(let one, let other):
            "Heads \(one) and \(other) of the cloud's directory are not of one history: it shows people different directories"
        case .wentBack(let newest, let seen):
            "The cloud's directory went back to head \(newest), after head \(seen) was seen"
        case .versionSkipped(let head):
            "An entry of the cloud's directory was changed without its next version, in head \(head)"
        case .incomplete: "A part of the directory's tree is missing"
        }
    }
}
