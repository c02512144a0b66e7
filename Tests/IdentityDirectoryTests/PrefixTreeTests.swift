import SeededChance
import Testing

@testable import IdentityDirectory

@Suite(.timeLimit(.minutes(20))) struct PrefixTreeTests {
    /// A tree and its leaves.
    struct Grown {
        var tree = PrefixTree()
        var leaves: [DirectoryIndex: DirectoryLeaf] = [:]

        mutating func set(_ leaf: DirectoryLeaf) throws {
            try tree.set(leaf.hash, at: leaf.index)
            leaves[leaf.index] = leaf
        }
    }

    static func leaf(_ index: DirectoryIndex, version: UInt64 = 1, previous: DirectoryHash = .zero) -> DirectoryLeaf {
        DirectoryLeaf(
            index: index, version: version, previous: previous,
            commitment: DirectoryHash(of: index.bytes + [UInt8(version)]))
    }

    static func index(_ chance: inout SplitMix64) throws -> DirectoryIndex {
        try #require(DirectoryIndex((0..<32).map { _ in UInt8.random(in: 0...255, using: &chance) }))
    }

    @Test func `the root does not depend on the order of insertions`() throws {
        var chance = SplitMix64(seed: 1)
        let leaves = try (0..<200).map { _ in Self.leaf(try Self.index(&chance)) }
        var one = Grown()
        var other = Grown()
        for leaf in leaves { try one.set(leaf) }
        for leaf in leaves.reversed() { try other.set(leaf) }
        #expect(one.tree.rootHash == other.tree.rootHash)
    }

    @Test func `every leaf is provable and every other index provably absent`() throws {
        var chance = SplitMix64(seed: 2)
        var grown = Grown()
        for _ in 0..<300 {
            var bytes = try Self.index(&chance).bytes
            // Half of the indices share long prefixes.
            if Bool.random(using: &chance) { bytes.replaceSubrange(0..<30, with: [UInt8](repeating: 7, count: 30)) }
            try grown.set(Self.leaf(try #require(DirectoryIndex(bytes))))
        }
        for (index, leaf) in grown.leaves {
            let (path, held) = try grown.tree.path(to: index)
            #expect(held?.hash == leaf.hash)
            #expect(path.root(from: leaf.hash, at: index) == grown.tree.rootHash)
        }
        for _ in 0..<100 {
            let index = try Self.index(&chance)
            let (path, held) = try grown.tree.path(to: index)
            #expect(held?.index != index)
            #expect(path.root(from: try #require(held?.hash), at: index) == grown.tree.rootHash)
        }
    }

    @Test func `an update computes the root that the tree has afterwards`() throws {
        var chance = SplitMix64(seed: 3)
        var grown = Grown()
        for step in 0..<300 {
            let before = grown.tree.rootHash
            var leaf = Self.leaf(try Self.index(&chance))
            if step % 3 == 2, let held = grown.leaves.values.randomElement(using: &chance) {
                leaf = Self.leaf(held.index, version: held.version + 1, previous: held.hash)
            }
            let (path, held) = try grown.tree.path(to: leaf.index)
            let update = DirectoryUpdate(leaf: leaf, path: path, held: held.flatMap { grown.leaves[$0.index] })
            try grown.set(leaf)
            let applied = try DirectoryUpdate(bytes: update.bytes).apply(to: before, head: 0)
            #expect(applied.root == grown.tree.rootHash)
            #expect(applied.isNew == (leaf.version == 1))
        }
    }

    @Test func `an update that skips a version, or changes a leaf in place, is refused`() throws {
        var chance = SplitMix64(seed: 4)
        var grown = Grown()
        for _ in 0..<20 { try grown.set(Self.leaf(try Self.index(&chance))) }
        let held = try #require(grown.leaves.values.first)
        let root = grown.tree.rootHash
        let path = try grown.tree.path(to: held.index).path
        var inPlace = held
        inPlace.commitment = DirectoryHash(of: [1])
        let skipped = Self.leaf(held.index, version: 3, previous: held.hash)
        let unchained = Self.leaf(held.index, version: 2, previous: DirectoryHash(of: [2]))
        for leaf in [inPlace, skipped, unchained] {
            let update = DirectoryUpdate(leaf: leaf, path: path, held: held)
            #expect(throws: DirectoryError.versionSkipped(head: 5)) { try update.apply(to: root, head: 5) }
        }
        // As if the index had been empty: the way leads to its leaf.
        let again = DirectoryUpdate(leaf: Self.leaf(held.index), path: path, held: nil)
        #expect(throws: DirectoryError.wrongRoot) { try again.apply(to: root, head: 5) }
        var elsewhere = try #require(grown.leaves.values.first { $0 != held })
        elsewhere.index = try Self.index(&chance)
        let lie = DirectoryUpdate(leaf: inPlace, path: path, held: elsewhere)
        #expect(throws: DirectoryError.wrongRoot) { try lie.apply(to: root, head: 5) }
    }

    @Test func `a stored tree continues from the nodes on the way to an index`() throws {
        var chance = SplitMix64(seed: 5)
        var whole = Grown()
        var stored: [PrefixNode.Key: [UInt8]] = [:]
        var root: PrefixNode.Child?
        for _ in 0..<150 {
            let leaf = Self.leaf(try Self.index(&chance))
            try whole.set(leaf)
            var part = PrefixTree(root: root)
            var child = root
            while let key = child?.key {
                let node = try PrefixNode(bytes: try #require(stored[key]))
                part.load(node, at: key)
                child = node.child(leaf.index.bit(key.depth))
            }
            try part.set(leaf.hash, at: leaf.index)
            for key in part.changed { stored[key] = part.node(key)?.bytes }
            root = try part.root.map { try PrefixNode.Child(bytes: $0.bytes) }
            #expect(part.rootHash == whole.tree.rootHash)
        }
        var empty = PrefixTree(root: root)
        #expect(throws: DirectoryError.incomplete) {
            try empty.set(DirectoryHash(of: []), at: try Self.index(&chance))
        }
    }
}
