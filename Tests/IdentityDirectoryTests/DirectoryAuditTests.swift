import SeededChance
import Testing

@testable import IdentityDirectory

@Suite(.timeLimit(.minutes(20))) struct DirectoryAuditTests {
    /// A directory with its heads and the changes of each.
    struct History {
        var log: GrownLog
        var tree = PrefixTree()
        var leaves: [DirectoryIndex: DirectoryLeaf] = [:]
        var updates: [[DirectoryUpdate]] = []

        init() {
            let key = VerifiableRandomFunction(seed: [UInt8](repeating: 3, count: 32)).publicKey
            log = GrownLog(keys: DirectoryKeys(signing: key, function: key))
        }

        mutating func change(_ changed: [DirectoryLeaf]) throws {
            var updates: [DirectoryUpdate] = []
            for leaf in changed {
                let (path, held) = try tree.path(to: leaf.index)
                updates.append(DirectoryUpdate(leaf: leaf, path: path, held: held.flatMap { leaves[$0.index] }))
                try tree.set(leaf.hash, at: leaf.index)
                leaves[leaf.index] = leaf
            }
            try log.append(root: tree.rootHash, count: UInt64(leaves.count))
            self.updates.append(updates)
        }
    }

    private func history(_ count: Int) throws -> History {
        var chance = SplitMix64(seed: 21)
        var history = History()
        for _ in 0..<count {
            var leaves = try (0..<3).map { _ in PrefixTreeTests.leaf(try PrefixTreeTests.index(&chance)) }
            let all = history.leaves.values.sorted { $0.index.bytes.lexicographicallyPrecedes($1.index.bytes) }
            if let held = all.randomElement(using: &chance) {
                leaves.append(
                    PrefixTreeTests.leaf(held.index, version: held.version + 1, previous: held.hash))
            }
            try history.change(leaves)
        }
        return history
    }

    @Test func `an honest history is followed to its end, also after its state was stored`() throws {
        let history = try history(20)
        var audit = DirectoryAudit(keys: history.log.keys)
        for (head, updates) in zip(history.log.heads, history.updates) {
            try audit.follow(head, updates: updates)
            let read = try DirectoryAudit(bytes: audit.bytes)
            #expect(read == audit)
            audit = read
        }
        #expect(audit.head == history.log.heads.last)
    }

    @Test func `a leaf that changed without an update is noticed`() throws {
        var history = try history(4)
        let held = try #require(history.leaves.values.first)
        try history.tree.set(DirectoryHash(of: [1]), at: held.index)
        try history.log.append(root: history.tree.rootHash, count: UInt64(history.leaves.count))
        history.updates.append([])
        var audit = DirectoryAudit(keys: history.log.keys)
        for position in 0..<4 { try audit.follow(history.log.heads[position], updates: history.updates[position]) }
        #expect(throws: DirectoryError.wrongRoot) {
            try audit.follow(history.log.heads[4], updates: history.updates[4])
        }
    }

    @Test func `a rewritten head and a forked one are noticed`() throws {
        let history = try history(6)
        var audit = DirectoryAudit(keys: history.log.keys)
        for position in 0..<4 { try audit.follow(history.log.heads[position], updates: history.updates[position]) }
        let kept = audit
        // Head 3 a second time, with other contents.
        #expect(throws: DirectoryError.forked(one: 3, other: 3)) {
            try audit.follow(history.log.heads[3], updates: history.updates[3])
        }
        let honest = history.log.heads[4]
        let forks = try [
            (previous: DirectoryHash(of: [9]), log: honest.log),
            (previous: honest.previous, log: DirectoryHash(of: [9])),
        ].map {
            try DirectoryHead(
                number: 4, root: honest.root, count: honest.count, time: honest.time, previous: $0.previous,
                log: $0.log,
                key: history.log.key)
        }
        for fork in forks {
            #expect(throws: DirectoryError.forked(one: 3, other: 4)) {
                try audit.follow(fork, updates: history.updates[4])
            }
        }
        var unsigned = honest
        unsigned.time += 1
        #expect(throws: DirectoryError.badSignature) { try audit.follow(unsigned, updates: history.updates[4]) }
        #expect(audit == kept)
    }
}

/// An auditor that asks a cloud in several turns.
@Suite(.timeLimit(.minutes(20))) struct DirectoryHistoryTests {
    private func history(_ count: Int, salt: UInt64 = 21) throws -> DirectoryAuditTests.History {
        var chance = SplitMix64(seed: salt)
        var history = DirectoryAuditTests.History()
        for _ in 0..<count { try history.change([PrefixTreeTests.leaf(try PrefixTreeTests.index(&chance))]) }
        return history
    }

    private func answer(
        _ history: DirectoryAuditTests.History, from number: UInt64, max: Int = 3
    ) throws -> DirectoryHistoryAnswer {
        let range = (Int(number)..<history.log.heads.count).clamped(to: 0..<history.log.heads.count).prefix(max)
        return DirectoryHistoryAnswer(
            keys: history.log.keys, newest: try #require(history.log.heads.last),
            heads: range.map { .init(head: history.log.heads[$0], updates: history.updates[$0]) })
    }

    @Test func `a history is followed in turns, and again from where an audit ended`() async throws {
        let short = try history(5)
        let first = try await DirectoryAudit.following(from: nil) { try answer(short, from: $0) }
        #expect(first.head == short.log.heads.last)
        let same = try await DirectoryAudit.following(from: first) { _ in
            DirectoryHistoryAnswer(keys: short.log.keys, newest: try #require(short.log.heads.last), heads: [])
        }
        #expect(same == first)
        let long = try history(11)
        let second = try await DirectoryAudit.following(from: first) { number in
            #expect(number >= 5)
            return try answer(long, from: number)
        }
        #expect(second.head == long.log.heads.last)
    }

    @Test func `a cloud that went back, forked, renamed itself or hides heads is refused`() async throws {
        let short = try history(5)
        let long = try history(11)
        let audit = try await DirectoryAudit.following(from: nil) { try answer(long, from: $0) }
        await #expect(throws: DirectoryError.wentBack(newest: 4, seen: 10)) {
            try await DirectoryAudit.following(from: audit) { _ in
                DirectoryHistoryAnswer(keys: short.log.keys, newest: short.log.heads[4], heads: [])
            }
        }
        let other = try history(11, salt: 22)
        await #expect(throws: DirectoryError.forked(one: 10, other: 10)) {
            try await DirectoryAudit.following(from: audit) { _ in
                DirectoryHistoryAnswer(keys: other.log.keys, newest: other.log.heads[10], heads: [])
            }
        }
        let forked = try history(14, salt: 22)
        await #expect(throws: DirectoryError.forked(one: 10, other: 11)) {
            try await DirectoryAudit.following(from: audit) { try answer(forked, from: $0) }
        }
        await #expect(throws: DirectoryError.keysReplaced) {
            try await DirectoryAudit.following(from: audit) { number in
                var answer = try answer(long, from: number)
                answer.keys[0] ^= 1
                return answer
            }
        }
        await #expect(throws: DirectoryError.malformed("history")) {
            try await DirectoryAudit.following(from: audit) { _ in
                DirectoryHistoryAnswer(keys: long.log.keys, newest: forked.log.heads[13], heads: [])
            }
        }
    }
}
