import Foundation
import SeededChance
import Testing

@testable import IdentityDirectory

/// The vectors of docs/directory.md, which `script/check-vectors` verifies with another program.
///
/// `WELKIN_RECORD=1` writes them again.
@Suite(.timeLimit(.minutes(20))) struct DirectoryVectorTests {
    struct Vectors: Codable, Hashable {
        struct Function: Codable, Hashable {
            var seed: String
            var publicKey: String
            var input: String
            var proof: String
            var output: String
        }

        struct Proof: Codable, Hashable {
            var name: String
            var address: String?
            var user: String?
            var container: String?
            var keys: String
            var head: String
            var proof: String
            /// The identity; empty for a proof of absence; nil for a proof that has to be refused.
            var identity: String?
            /// The hashes of the devices, where they are shown.
            var devices: [String]?
        }

        struct History: Codable, Hashable {
            var earlier: String
            var later: String
            var proof: String
            var holds: Bool
        }

        struct Audit: Codable, Hashable {
            var head: String
            var updates: [String]
        }

        var function: [Function]
        var proofs: [Proof]
        var histories: [History]
        var audit: [Audit]
    }

    private static var file: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Vectors/directory.json")
    }

    /// A directory of a few entries, with a head for each change.
    private struct Maker {
        let function = VerifiableRandomFunction(seed: [UInt8](repeating: 5, count: 32))
        var history = DirectoryAuditTests.History()
        var entries: [DirectoryIndex: DirectoryProof.OpenedEntry] = [:]
        var keys: DirectoryKeys { DirectoryKeys(signing: history.log.keys.signing, function: function.publicKey) }

        func index(_ label: DirectoryLabel) throws -> DirectoryIndex {
            try label.index(proof: function.prove(label.input), functionKey: function.publicKey)
        }

        mutating func set(_ label: DirectoryLabel, identity: [UInt8], devices: [DirectoryDevice]) throws {
            let index = try index(label)
            let held = history.leaves[index]
            let entry = DirectoryProof.OpenedEntry(
                version: (held?.version ?? 0) + 1, previous: held?.hash ?? .zero, identity: identity,
                opening: [UInt8](repeating: UInt8(history.updates.count), count: 32),
                devices: .shown(DirectoryDevices(devices), opening: [UInt8](repeating: 77, count: 32)))
            entries[index] = entry
            let leaf = DirectoryLeaf(
                index: index, version: entry.version, previous: entry.previous,
                commitment: entry.entry.commitment(version: entry.version, opening: entry.opening))
            try history.change([leaf])
        }

        func proof(_ label: DirectoryLabel, isOwn: Bool) throws -> DirectoryProof {
            let index = try index(label)
            let (path, held) = try history.tree.path(to: index)
            let end: DirectoryProof.End
            if let held, held.index == index, var entry = entries[index] {
                if !isOwn { entry.devices = .hidden(entry.entry.devices) }
                end = .entry(entry)
            } else if let held, let leaf = history.leaves[held.index] {
                end = .otherLeaf(leaf)
            } else {
                end = .emptyTree
            }
            return DirectoryProof(indexProof: function.prove(label.input), path: path, end: end)
        }
    }

    private func made() throws -> Vectors {
        var maker = Maker()
        let devices = [DirectoryDevice(id: "phone", created: 1000), DirectoryDevice(id: "laptop", created: 2000)]
        for number in 0..<12 {
            try maker.set(
                .address("user\(number)@example.org"), identity: [UInt8](repeating: UInt8(number), count: 129),
                devices: devices)
        }
        let ada = DirectoryLabel.user("_ada", container: "iCloud.org.example.notes")
        try maker.set(ada, identity: [UInt8](repeating: 200, count: 129), devices: [devices[0]])
        try maker.set(ada, identity: [UInt8](repeating: 201, count: 129), devices: devices)
        let log = maker.history.log
        let head = try #require(log.heads.last).bytes.hex
        func proof(_ name: String, _ label: DirectoryLabel, isOwn: Bool = false) throws -> Vectors.Proof {
            let proof = try maker.proof(label, isOwn: isOwn)
            var vector = Vectors.Proof(
                name: name, keys: maker.keys.bytes.hex, head: head, proof: proof.bytes.hex, identity: "")
            switch label {
            case .address(let address): vector.address = address
            case .user(let user, let container): (vector.user, vector.container) = (user, container)
            }
            if case .entry(let entry) = proof.end {
                vector.identity = entry.identity.hex
                if case .shown(let devices, _) = entry.devices { vector.devices = devices.list.map(\.id.bytes.hex) }
            }
            return vector
        }
        let present = try proof("an address", .address("user7@example.org"))
        var stranger = present
        (stranger.name, stranger.address, stranger.identity) = ("of another address", "user8@example.org", nil)
        var forged = present
        (forged.name, forged.identity) = ("another identity", nil)
        forged.proof = present.proof.replacing(
            String(repeating: "07", count: 129), with: String(repeating: "08", count: 129))
        var older = present
        (older.name, older.identity, older.head) = ("under an older head", nil, log.heads[9].bytes.hex)
        var unsigned = present
        (unsigned.name, unsigned.identity) = ("under a head of another key", nil)
        unsigned.keys = [UInt8](repeating: 9, count: 32).hex + present.keys.dropFirst(64)
        let pairs = [(0, 1), (0, 13), (3, 4), (4, 13), (7, 8), (11, 13), (6, 12)]
        var histories = pairs.map { earlier, later in
            Vectors.History(
                earlier: log.heads[earlier].bytes.hex, later: log.heads[later].bytes.hex,
                proof: log.proof(from: UInt64(earlier), to: UInt64(later)).bytes.hex, holds: true)
        }
        var wrong = histories[3]
        (wrong.earlier, wrong.holds) = (log.heads[5].bytes.hex, false)
        histories.append(wrong)
        return Vectors(
            function: VerifiableRandomFunctionTests.vectors.map {
                .init(seed: $0.seed, publicKey: $0.publicKey, input: $0.input, proof: $0.proof, output: $0.output)
            },
            proofs: [
                present, try proof("a user", ada), try proof("a user's own", ada, isOwn: true),
                try proof("absent", .address("nobody@example.org")), stranger, forged, older, unsigned,
            ], histories: histories,
            audit: zip(log.heads, maker.history.updates).map { head, updates in
                .init(head: head.bytes.hex, updates: updates.map(\.bytes.hex))
            })
    }

    @Test func `the vectors are those of the file`() throws {
        let made = try made()
        if ProcessInfo.processInfo.environment["WELKIN_RECORD"] != nil {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            try encoder.encode(made).write(to: Self.file)
        }
        #expect(try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: Self.file)) == made)
    }

    @Test func `the proofs of the file are accepted and refused as it says`() throws {
        let vectors = try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: Self.file))
        for vector in vectors.proofs {
            let label =
                vector.address.map { DirectoryLabel.address($0) }
                ?? .user(vector.user ?? "", container: vector.container ?? "")
            let entry = Result { () throws -> DirectoryProof.OpenedEntry? in
                let keys = try DirectoryKeys(bytes: bytes(vector.keys))
                let head = try DirectoryHead(bytes: bytes(vector.head))
                try head.verify(keys)
                return try DirectoryProof(bytes: bytes(vector.proof))
                    .verify(label, root: head.root, functionKey: keys.function)
            }
            let identity: String?
            if case .success(let found) = entry { identity = found?.identity.hex ?? "" } else { identity = nil }
            #expect(identity == vector.identity, "\(vector.name)")
        }
        for vector in vectors.histories {
            let holds =
                (try? HistoryProof(bytes: bytes(vector.proof)).verify(
                    from: DirectoryHead(bytes: bytes(vector.earlier)), to: DirectoryHead(bytes: bytes(vector.later))))
                != nil
            #expect(holds == vector.holds)
        }
    }
}
