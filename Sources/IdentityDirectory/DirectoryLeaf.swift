/// A version of an entry as the tree holds it: it commits to the entry without showing it.
package struct DirectoryLeaf: Hashable, Sendable {
    /// The place in the tree.
    package var index: DirectoryIndex
    /// 1 for the first version, then one more each.
    package var version: UInt64
    /// The hash of the leaf of the previous version; zeros for the first.
    package var previous: DirectoryHash
    /// The commitment to the entry.
    package var commitment: DirectoryHash

    /// Creates a leaf.
    package init(index: DirectoryIndex, version: UInt64, previous: DirectoryHash, commitment: DirectoryHash) {
        self.index = index
        self.version = version
        self.previous = previous
        self.commitment = commitment
    }

    /// The hash of the leaf.
    package var hash: DirectoryHash {
        var frame = HashInput("welkin directory leaf 1")
        frame.append(index.bytes)
        frame.append(version)
        frame.append(previous)
        frame.append(commitment)
        return DirectoryHash(of: frame.bytes)
    }

    /// Whether the leaf may follow another one of its index, or begin it.
    package func follows(_ earlier: DirectoryLeaf?) -> Bool {
        guard let earlier else { return version == 1 && previous == .zero }
        return index == earlier.index && version == earlier.version &+ 1 && previous == earlier.hash
    }
}
