/// The way from the root of the tree to the only leaf that the bits of an index lead to.
///
/// The depths and sides of the nodes on it follow from the index alone, so that under one root there is one such way for an index, and one
/// leaf at its end: the index's own, or another one, which proves that the index has none.
package struct PrefixPath: Hashable, Sendable {
    /// The other child of a node on the way.
    package struct Step: Hashable, Sendable {
        /// The bit of the index that the node decides on: 0 to 255.
        package var depth: Int
        /// The hash of the child that is not on the way.
        package var sibling: DirectoryHash
    }

    /// From the root to the leaf; the depths grow.
    package var steps: [Step]

    /// Creates a path.
    package init(steps: [Step]) { self.steps = steps }

    /// Returns the root to which the path leads from a hash at its end.
    ///
    /// - Parameter steps: nil: all.
    func root(from hash: DirectoryHash, at index: DirectoryIndex, steps: ArraySlice<Step>? = nil) -> DirectoryHash {
        (steps ?? self.steps[...]).reversed().reduce(hash) { hash, step in
            PrefixNode.hash(
                depth: step.depth, left: index.bit(step.depth) ? step.sibling : hash,
                right: index.bit(step.depth) ? hash : step.sibling)
        }
    }

    /// Returns the root after a leaf was set, for a path to `held` under the root before.
    ///
    /// - Parameter held: The leaf at the end of the path: one of the same index, another one, or nil in an empty tree.
    package func root(setting leaf: DirectoryLeaf, at held: HeldLeaf?) throws(DirectoryError) -> DirectoryHash {
        guard let held else {
            guard steps.isEmpty else { throw .wrongRoot }
            return leaf.hash
        }
        guard let split = leaf.index.divergence(from: held.index) else { return root(from: leaf.hash, at: leaf.index) }
        let cut = steps.firstIndex { $0.depth >= split } ?? steps.endIndex
        guard cut == steps.endIndex || steps[cut].depth != split else { throw .wrongRoot }
        let below = root(from: held.hash, at: held.index, steps: steps[cut...])
        let node = PrefixNode.hash(
            depth: split, left: leaf.index.bit(split) ? below : leaf.hash,
            right: leaf.index.bit(split) ? leaf.hash : below)
        return root(from: node, at: leaf.index, steps: steps[..<cut])
    }

    /// The index and the hash of the leaf at the end of a path.
    package struct HeldLeaf: Hashable, Sendable {
        /// The place of the leaf.
        package var index: DirectoryIndex
        /// The hash of the leaf.
        package var hash: DirectoryHash

        /// Creates the end of a path.
        package init(index: DirectoryIndex, hash: DirectoryHash) {
            self.index = index
            self.hash = hash
        }
    }

    // MARK: Bytes

    /// `u16` count, then for each step its depth in a byte and the hash.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendBigEndian(UInt16(steps.count))
        for step in steps {
            bytes.append(UInt8(step.depth))
            bytes += step.sibling.bytes
        }
        return bytes
    }

    init(_ reader: inout DirectoryReader) throws(DirectoryError) {
        let count = try reader.takeCount()
        guard count <= 256 else { throw reader.malformed }
        steps = []
        for _ in 0..<count {
            let step = Step(depth: Int(try reader.takeByte()), sibling: try reader.takeHash())
            // Depths that do not grow would let one index have two ways.
            if let last = steps.last, last.depth >= step.depth { throw reader.malformed }
            steps.append(step)
        }
    }
}
