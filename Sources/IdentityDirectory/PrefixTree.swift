/// A node of the tree, which parts the indices below it by one bit.
package struct PrefixNode: Hashable, Sendable {
    /// The place of a node: the bits that all indices below it share.
    package struct Key: Hashable, Sendable {
        /// The count of these bits, and the bit that the node decides on: 0 to 255.
        package var depth: Int
        /// The bits, with zeros behind them.
        package var prefix: DirectoryIndex

        init(depth: Int, prefix: DirectoryIndex) {
            self.depth = depth
            self.prefix = prefix
        }

        /// 33 bytes.
        package var bytes: [UInt8] { [UInt8(depth)] + prefix.bytes }
    }

    /// A child of a node, or the root.
    package enum Child: Hashable, Sendable {
        case leaf(DirectoryIndex, DirectoryHash)
        case node(Key, DirectoryHash)

        /// The hash of the child.
        package var hash: DirectoryHash {
            switch self {
            case .leaf(_, let hash), .node(_, let hash): hash
            }
        }

        /// The place of a child that is a node.
        package var key: Key? { if case .node(let key, _) = self { key } else { nil } }
    }

    var left: Child
    var right: Child

    /// Returns the hash of a node.
    static func hash(depth: Int, left: DirectoryHash, right: DirectoryHash) -> DirectoryHash {
        var frame = HashInput("welkin directory node 1")
        frame.append([UInt8(depth)])
        frame.append(left)
        frame.append(right)
        return DirectoryHash(of: frame.bytes)
    }

    /// Returns the child that an index leads to.
    func child(_ isRight: Bool) -> Child { isRight ? right : left }

    /// Returns the child of the node at `key` that an index leads to.
    package func child(toward index: DirectoryIndex, at key: Key) -> Child { child(index.bit(key.depth)) }

    // MARK: Bytes

    /// The stored form: both children.
    package var bytes: [UInt8] { left.bytes + right.bytes }

    /// Reads the stored form.
    package init(bytes: [UInt8]) throws(DirectoryError) {
        var reader = DirectoryReader(bytes, of: "node")
        left = try Child(&reader)
        right = try Child(&reader)
        try reader.finish()
    }

    init(left: Child, right: Child) {
        self.left = left
        self.right = right
    }
}

extension PrefixNode.Child {
    /// The stored form: 0, index and hash of a leaf; or 1, depth, prefix and hash of a node.
    package var bytes: [UInt8] {
        switch self {
        case .leaf(let index, let hash): [0] + index.bytes + hash.bytes
        case .node(let key, let hash): [1] + key.bytes + hash.bytes
        }
    }

    /// Reads the stored form.
    package init(bytes: [UInt8]) throws(DirectoryError) {
        var reader = DirectoryReader(bytes, of: "node")
        self = try Self(&reader)
        try reader.finish()
    }

    init(_ reader: inout DirectoryReader) throws(DirectoryError) {
        switch try reader.takeByte() {
        case 0: self = .leaf(try reader.takeIndex(), try reader.takeHash())
        case 1:
            let depth = Int(try reader.takeByte())
            self = .node(PrefixNode.Key(depth: depth, prefix: try reader.takeIndex()), try reader.takeHash())
        default: throw reader.malformed
        }
    }
}

/// The tree of all leaves, or the part of it that was loaded.
///
/// A node with one child does not exist: a way from the root passes about log₂ of the number of leaves.
package struct PrefixTree: Sendable {
    /// nil: an empty tree.
    package private(set) var root: PrefixNode.Child?
    /// The nodes that were loaded or made.
    private var nodes: [PrefixNode.Key: PrefixNode] = [:]
    /// The nodes that were made or changed since the tree was created.
    package private(set) var changed: Set<PrefixNode.Key> = []
    private let notesChanges: Bool

    /// - Parameters:
    ///   - root: Of the stored tree; nil for an empty one.
    ///   - notesChanges: Whether `changed` is kept.
    package init(root: PrefixNode.Child? = nil, notesChanges: Bool = true) {
        self.root = root
        self.notesChanges = notesChanges
    }

    /// The hash of the whole tree.
    package var rootHash: DirectoryHash { root?.hash ?? Self.emptyRoot }

    /// The root of a tree without leaves.
    package static let emptyRoot = DirectoryHash(of: HashInput("welkin directory empty 1").bytes)

    /// Adds a stored node.
    package mutating func load(_ node: PrefixNode, at key: PrefixNode.Key) { nodes[key] = node }

    /// Returns a node that was loaded or made.
    package func node(_ key: PrefixNode.Key) -> PrefixNode? { nodes[key] }

    /// Returns the way to the leaf that an index leads to, and the leaf; nil in place of the leaf of an empty tree.
    ///
    /// - Throws: `DirectoryError.incomplete`.
    package func path(
        to index: DirectoryIndex
    ) throws(DirectoryError) -> (path: PrefixPath, held: PrefixPath.HeldLeaf?) {
        var steps: [PrefixPath.Step] = []
        guard var child = root else { return (PrefixPath(steps: []), nil) }
        while true {
            switch child {
            case .leaf(let found, let hash): return (PrefixPath(steps: steps), .init(index: found, hash: hash))
            case .node(let key, _):
                guard let node = nodes[key] else { throw .incomplete }
                let isRight = index.bit(key.depth)
                steps.append(.init(depth: key.depth, sibling: node.child(!isRight).hash))
                child = node.child(isRight)
            }
        }
    }

    /// Sets the leaf of an index.
    ///
    /// - Throws: `DirectoryError.incomplete` unless all nodes on the way to it were loaded.
    package mutating func set(_ leaf: DirectoryHash, at index: DirectoryIndex) throws(DirectoryError) {
        var keys: [PrefixNode.Key] = []
        guard var child = root else {
            root = .leaf(index, leaf)
            return
        }
        while case .node(let key, _) = child {
            guard let node = nodes[key] else { throw .incomplete }
            keys.append(key)
            child = node.child(index.bit(key.depth))
        }
        guard case .leaf(let held, _) = child else { return }
        var new = PrefixNode.Child.leaf(index, leaf)
        if let split = index.divergence(from: held) {
            let cut = keys.firstIndex { $0.depth > split } ?? keys.endIndex
            let below = cut == keys.endIndex ? child : try reference(keys, cut)
            keys.removeSubrange(cut...)
            let isRight = index.bit(split)
            let node = PrefixNode(left: isRight ? below : new, right: isRight ? new : below)
            new = keep(node, at: PrefixNode.Key(depth: split, prefix: index.prefix(split)))
        }
        for key in keys.reversed() {
            guard var node = nodes[key] else { throw .incomplete }
            if index.bit(key.depth) { node.right = new } else { node.left = new }
            new = keep(node, at: key)
        }
        root = new
    }

    /// Returns the child that refers to the node at a position of the way.
    private func reference(
        _ keys: [PrefixNode.Key], _ position: Int
    ) throws(DirectoryError) -> PrefixNode.Child {
        guard position > 0 else {
            guard let root else { throw .incomplete }
            return root
        }
        let parent = keys[position - 1]
        guard let node = nodes[parent] else { throw .incomplete }
        return node.child(keys[position].prefix.bit(parent.depth))
    }

    private mutating func keep(_ node: PrefixNode, at key: PrefixNode.Key) -> PrefixNode.Child {
        nodes[key] = node
        if notesChanges { changed.insert(key) }
        return .node(key, PrefixNode.hash(depth: key.depth, left: node.left.hash, right: node.right.hash))
    }
}
