import IdentityDirectory
import SeededChance

/// Measurements of the directory of identities.
extension Bench {
    /// Measures the largest proof of a look-up, and the time to verify one, in a directory of a million users.
    func identityProofs() throws -> [Figure] {
        let users = options.isQuick ? 20_000 : 1_000_000
        let looked = options.isQuick ? 200 : 2000
        var chance = SplitMix64(seed: 14)
        let function = VerifiableRandomFunction(seed: [UInt8](repeating: 5, count: 32))
        var tree = PrefixTree(notesChanges: false)
        let building = try seconds {
            for _ in 0..<users {
                let bytes = (0..<32).map { _ in UInt8.random(in: 0...255, using: &chance) }
                guard let index = DirectoryIndex(bytes) else { continue }
                try tree.set(DirectoryHash(of: bytes), at: index)
            }
        }
        var proofs: [(label: DirectoryLabel, proof: [UInt8])] = []
        var entries: [(label: DirectoryLabel, index: DirectoryIndex, entry: DirectoryProof.OpenedEntry)] = []
        for number in 0..<looked {
            let label = DirectoryLabel.address("user\(number)@example.org")
            let index = try label.index(proof: function.prove(label.input), functionKey: function.publicKey)
            let entry = DirectoryProof.OpenedEntry(
                version: 1, previous: .zero, identity: [UInt8](repeating: 1, count: 129),
                opening: [UInt8](repeating: 2, count: 32), devices: .hidden(.zero))
            let leaf = DirectoryLeaf(
                index: index, version: 1, previous: .zero,
                commitment: DirectoryEntry(identity: entry.identity, devices: .zero)
                    .commitment(version: 1, opening: entry.opening))
            try tree.set(leaf.hash, at: index)
            entries.append((label, index, entry))
        }
        for (label, index, entry) in entries {
            let proof = DirectoryProof(
                indexProof: function.prove(label.input), path: try tree.path(to: index).path, end: .entry(entry))
            proofs.append((label, proof.bytes))
        }
        let root = tree.rootHash
        let verifying = try seconds {
            for (label, proof) in proofs {
                _ = try DirectoryProof(bytes: proof).verify(label, root: root, functionKey: function.publicKey)
            }
        }
        let largest = (proofs.map(\.proof.count).max() ?? 0) + DirectoryHead.byteCount
        return [
            Figure(
                id: "i", title: "largest proof of \(looked) identities among \(users) users, with its head",
                unit: "bytes", target: 4096, value: Double(largest),
                remarks: ["\((building / Double(users) * 1e7).rounded() / 10) µs to add a user to the tree in memory"]),
            Figure(
                id: "i+", title: "verifying such a proof", unit: "ms", target: 1,
                value: verifying / Double(looked) * 1000),
        ]
    }
}
