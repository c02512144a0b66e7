import SeededChance
import Testing

@testable import IdentityDirectory

@Suite(.timeLimit(.minutes(20))) struct DirectoryProofTests {
    let function = VerifiableRandomFunction(seed: [UInt8](repeating: 7, count: 32))
    let opening = [UInt8](repeating: 9, count: 32)

    private func index(of label: DirectoryLabel) throws -> DirectoryIndex {
        try label.index(proof: function.prove(label.input), functionKey: function.publicKey)
    }

    private func entry(identity: UInt8) -> DirectoryProof.OpenedEntry {
        DirectoryProof.OpenedEntry(
            version: 1, previous: .zero, identity: [UInt8](repeating: identity, count: 129), opening: opening,
            devices: .hidden(DirectoryHash(of: [identity])))
    }

    private func leaf(_ entry: DirectoryProof.OpenedEntry, at index: DirectoryIndex) -> DirectoryLeaf {
        DirectoryLeaf(
            index: index, version: entry.version, previous: entry.previous,
            commitment: entry.entry.commitment(version: entry.version, opening: entry.opening))
    }

    /// A tree with some other leaves, and one for Alice.
    private func tree(_ alice: DirectoryLabel) throws -> (PrefixTree, DirectoryProof) {
        var chance = SplitMix64(seed: 11)
        var tree = PrefixTree()
        for _ in 0..<50 {
            let leaf = PrefixTreeTests.leaf(try PrefixTreeTests.index(&chance))
            try tree.set(leaf.hash, at: leaf.index)
        }
        let entry = entry(identity: 1)
        let index = try index(of: alice)
        try tree.set(leaf(entry, at: index).hash, at: index)
        let proof = DirectoryProof(
            indexProof: function.prove(alice.input), path: try tree.path(to: index).path, end: .entry(entry))
        return (tree, proof)
    }

    @Test func `a proof of presence opens the entry and survives its encoding`() throws {
        let alice = DirectoryLabel.address("alice@example.org")
        let (tree, proof) = try tree(alice)
        let read = try DirectoryProof(bytes: proof.bytes)
        #expect(read == proof)
        let entry = try read.verify(alice, root: tree.rootHash, functionKey: function.publicKey)
        #expect(entry?.identity == [UInt8](repeating: 1, count: 129))
    }

    @Test func `an identity that the tree does not commit to is refused`() throws {
        let alice = DirectoryLabel.address("alice@example.org")
        let (tree, honest) = try tree(alice)
        var proof = honest
        proof.end = .entry(entry(identity: 2))
        #expect(throws: DirectoryError.wrongRoot) {
            try proof.verify(alice, root: tree.rootHash, functionKey: function.publicKey)
        }
        #expect(throws: DirectoryError.wrongIndex) {
            try honest.verify(.address("mallory@example.org"), root: tree.rootHash, functionKey: function.publicKey)
        }
        #expect(throws: DirectoryError.wrongIndex) {
            try honest.verify(
                .user("alice@example.org", container: ""), root: tree.rootHash, functionKey: function.publicKey)
        }
    }

    @Test func `a present entry cannot be denied`() throws {
        let alice = DirectoryLabel.address("alice@example.org")
        let (tree, honest) = try tree(alice)
        guard case .entry(let entry) = honest.end else { return }
        var chance = SplitMix64(seed: 12)
        for _ in 0..<20 {
            let other = PrefixTreeTests.leaf(try PrefixTreeTests.index(&chance))
            let way = try tree.path(to: other.index)
            let lie = DirectoryProof(indexProof: honest.indexProof, path: way.path, end: .otherLeaf(other))
            #expect(throws: DirectoryError.wrongRoot) {
                try lie.verify(alice, root: tree.rootHash, functionKey: function.publicKey)
            }
        }
        let own = leaf(entry, at: try index(of: alice))
        for end in [DirectoryProof.End.emptyTree, .otherLeaf(own)] {
            let lie = DirectoryProof(indexProof: honest.indexProof, path: honest.path, end: end)
            #expect(throws: DirectoryError.wrongRoot) {
                try lie.verify(alice, root: tree.rootHash, functionKey: function.publicKey)
            }
        }
    }

    @Test func `absence is proved by another leaf at the end of the way`() throws {
        let (tree, _) = try tree(.address("alice@example.org"))
        let bob = DirectoryLabel.address("bob@example.org")
        let index = try index(of: bob)
        let (path, held) = try tree.path(to: index)
        var chance = SplitMix64(seed: 11)
        let leaves = try (0..<50).map { _ in PrefixTreeTests.leaf(try PrefixTreeTests.index(&chance)) }
        let end = try #require(leaves.first { $0.index == held?.index })
        let proof = DirectoryProof(indexProof: function.prove(bob.input), path: path, end: .otherLeaf(end))
        let read = try DirectoryProof(bytes: proof.bytes)
        #expect(try read.verify(bob, root: tree.rootHash, functionKey: function.publicKey) == nil)
    }

    @Test func `the account itself sees its devices, and others cannot be shown other ones`() throws {
        let devices = DirectoryDevices([DirectoryDevice(id: "one", created: 1), DirectoryDevice(id: "two", created: 2)])
        var entry = entry(identity: 1)
        entry.devices = .shown(devices, opening: opening)
        let alice = DirectoryLabel.user("_a", container: "iCloud.org.example")
        var tree = PrefixTree()
        let index = try index(of: alice)
        try tree.set(leaf(entry, at: index).hash, at: index)
        let proof = DirectoryProof(
            indexProof: function.prove(alice.input), path: try tree.path(to: index).path, end: .entry(entry))
        let read = try DirectoryProof(bytes: proof.bytes)
        let opened = try read.verify(alice, root: tree.rootHash, functionKey: function.publicKey)
        #expect(opened?.devices == .shown(devices, opening: opening))
        var lie = entry
        lie.devices = .shown(DirectoryDevices([DirectoryDevice(id: "one", created: 1)]), opening: opening)
        #expect(throws: DirectoryError.wrongRoot) {
            try DirectoryProof(indexProof: proof.indexProof, path: proof.path, end: .entry(lie))
                .verify(alice, root: tree.rootHash, functionKey: function.publicKey)
        }
    }

    @Test func `no cut, longer or changed proof is accepted`() throws {
        let alice = DirectoryLabel.address("alice@example.org")
        let (tree, proof) = try tree(alice)
        let bytes = proof.bytes
        for count in stride(from: 0, to: bytes.count, by: 7) {
            #expect(throws: DirectoryError.malformed("proof")) { try DirectoryProof(bytes: Array(bytes.prefix(count))) }
        }
        #expect(throws: DirectoryError.malformed("proof")) { try DirectoryProof(bytes: bytes + [0]) }
        for position in stride(from: 81, to: bytes.count, by: 11) {
            var changed = bytes
            changed[position] ^= 0x10
            #expect(throws: DirectoryError.self) {
                try DirectoryProof(bytes: changed)
                    .verify(alice, root: tree.rootHash, functionKey: function.publicKey)
            }
        }
    }
}
