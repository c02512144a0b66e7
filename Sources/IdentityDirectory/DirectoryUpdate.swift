/// A change of the tree from one version of an entry to the next, as auditors see it.
package struct DirectoryUpdate: Hashable, Sendable {
    /// The leaf at the end of the way before the change.
    package enum Before: Hashable, Sendable {
        /// The tree was empty.
        case emptyTree
        /// The index had no leaf; this one was found.
        case otherLeaf(DirectoryLeaf)
        /// The previous version.
        case version(DirectoryLeaf)
    }

    /// The new leaf.
    package var leaf: DirectoryLeaf
    /// The way to the leaf before.
    package var path: PrefixPath
    /// The leaf before.
    package var before: Before

    /// Creates an update.
    ///
    /// - Parameter held: The leaf at the end of the path; nil in an empty tree.
    package init(leaf: DirectoryLeaf, path: PrefixPath, held: DirectoryLeaf?) {
        self.leaf = leaf
        self.path = path
        before = held.map { $0.index == leaf.index ? .version($0) : .otherLeaf($0) } ?? .emptyTree
    }

    /// Applies the change to a root.
    ///
    /// - Parameter head: The number of the head that the change belongs to, for the error.
    /// - Returns: The root after the change, and whether the entry is a new one.
    /// - Throws: `DirectoryError.wrongRoot`, `versionSkipped`.
    package func apply(
        to root: DirectoryHash, head: UInt64
    ) throws(DirectoryError) -> (root: DirectoryHash, isNew: Bool) {
        let held: DirectoryLeaf?
        switch before {
        case .emptyTree:
            guard root == PrefixTree.emptyRoot, path.steps.isEmpty else { throw .wrongRoot }
            held = nil
        case .otherLeaf(let other), .version(let other):
            guard path.root(from: other.hash, at: leaf.index) == root else { throw .wrongRoot }
            held = other
        }
        let isNew: Bool
        if case .version(let earlier) = before {
            guard earlier.index == leaf.index, leaf.follows(earlier) else { throw .versionSkipped(head: head) }
            isNew = false
        } else {
            guard held?.index != leaf.index, leaf.follows(nil) else { throw .versionSkipped(head: head) }
            isNew = true
        }
        let after = try path.root(
            setting: leaf, at: held.map { PrefixPath.HeldLeaf(index: $0.index, hash: $0.hash) })
        return (after, isNew)
    }

    // MARK: Bytes

    /// The encoded form of docs/directory.md.
    package var bytes: [UInt8] {
        let bytes: [UInt8] = [1] + leaf.bytes + path.bytes
        switch before {
        case .emptyTree: return bytes + [0]
        case .otherLeaf(let leaf): return bytes + [1] + leaf.bytes
        case .version(let leaf): return bytes + [2] + leaf.bytes
        }
    }

    /// Reads the encoded form.
    package init(bytes: [UInt8]) throws(DirectoryError) {
        var reader = DirectoryReader(bytes, of: "update")
        guard try reader.takeByte() == 1 else { throw reader.malformed }
        leaf = try DirectoryLeaf(&reader)
        path = try PrefixPath(&reader)
        switch try reader.takeByte() {
        case 0: before = .emptyTree
        case 1: before = .otherLeaf(try DirectoryLeaf(&reader))
        case 2: before = .version(try DirectoryLeaf(&reader))
        default: throw reader.malformed
        }
        try reader.finish()
    }
}
