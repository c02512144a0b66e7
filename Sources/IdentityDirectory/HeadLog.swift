import Crypto

/// The Merkle tree over the hashes of heads, as RFC 6962 §2.1 (and RFC 9162 §2.1) defines it over log entries.
///
/// Complete subtrees never change, so a store keeps them by level and position; every other hash is folded from at most 64 of them.
package enum HeadLog {
    /// The place of a complete subtree: of 2^level heads.
    package struct Position: Hashable, Sendable {
        /// 0 for a single head.
        package var level: Int
        /// Counted from 0 within the level.
        package var index: UInt64
    }

    /// The root of a log without heads.
    package static let emptyRoot = DirectoryHash(of: [])

    /// Returns the hash of a log of one head.
    package static func leaf(_ head: DirectoryHash) -> DirectoryHash { DirectoryHash(of: [0] + head.bytes) }

    static func node(_ left: DirectoryHash, _ right: DirectoryHash) -> DirectoryHash {
        DirectoryHash(of: [1] + left.bytes + right.bytes)
    }

    /// Returns the complete subtrees of which a range of heads consists, from the left.
    package static func positions(of range: Range<UInt64>) -> [Position] {
        var positions: [Position] = []
        var start = range.lowerBound
        while start < range.upperBound {
            let aligned = start == 0 ? 63 : start.trailingZeroBitCount
            let level = min(aligned, 63 - (range.upperBound - start).leadingZeroBitCount)
            positions.append(Position(level: level, index: start >> UInt64(level)))
            start += 1 << UInt64(level)
        }
        return positions
    }

    /// Returns the hash of a range from those of its complete subtrees.
    package static func fold(_ hashes: [DirectoryHash]) -> DirectoryHash {
        guard let last = hashes.last else { return emptyRoot }
        return hashes.dropLast().reversed().reduce(last) { node($1, $0) }
    }

    /// Returns the complete subtrees that the head with this number completes, the head itself first, each with the hashes of its two halves
    /// found by `held`.
    package static func completed(
        by number: UInt64, head: DirectoryHash, held: (Position) -> DirectoryHash?
    ) throws(DirectoryError) -> [(position: Position, hash: DirectoryHash)] {
        var result = [(position: Position(level: 0, index: number), hash: leaf(head))]
        var index = number
        while index & 1 == 1, let last = result.last {
            guard let left = held(Position(level: last.position.level, index: index - 1)) else { throw .incomplete }
            index >>= 1
            result.append((Position(level: last.position.level + 1, index: index), node(left, last.hash)))
        }
        return result
    }

    /// Returns the subtrees to the left of the one that a head completes, whose hashes `completed(by:head:held:)` needs.
    package static func neighbours(of number: UInt64) -> [Position] {
        var positions: [Position] = []
        var index = number
        while index & 1 == 1 {
            positions.append(Position(level: positions.count, index: index - 1))
            index >>= 1
        }
        return positions
    }

    /// Returns the ranges whose hashes prove that a head is in a log (RFC 9162 §2.1.3.1).
    package static func inclusion(of number: UInt64, size: UInt64) -> [Range<UInt64>] {
        var proof: [Range<UInt64>] = []
        var range = 0..<size
        while range.upperBound - range.lowerBound > 1 {
            let split = range.lowerBound + half(of: range.upperBound - range.lowerBound)
            if number < split {
                proof.insert(split..<range.upperBound, at: 0)
                range = range.lowerBound..<split
            } else {
                proof.insert(range.lowerBound..<split, at: 0)
                range = split..<range.upperBound
            }
        }
        return proof
    }

    /// Returns the ranges whose hashes prove that a log began as a smaller one (RFC 9162 §2.1.4.1).
    ///
    /// - Parameter earlier: At least 1, and below `size`.
    package static func consistency(from earlier: UInt64, size: UInt64) -> [Range<UInt64>] {
        var proof: [Range<UInt64>] = []
        var range = 0..<size
        var isWhole = true
        while earlier != range.upperBound {
            let split = range.lowerBound + half(of: range.upperBound - range.lowerBound)
            if earlier <= split {
                proof.insert(split..<range.upperBound, at: 0)
                range = range.lowerBound..<split
            } else {
                proof.insert(range.lowerBound..<split, at: 0)
                range = split..<range.upperBound
                isWhole = false
            }
        }
        if !isWhole { proof.insert(range, at: 0) }
        return proof
    }

    /// The largest power of two below a count.
    private static func half(of count: UInt64) -> UInt64 { 1 << UInt64(63 - (count - 1).leadingZeroBitCount) }

    /// Whether a proof shows a head in a log (RFC 9162 §2.1.3.2).
    static func includes(
        _ head: DirectoryHash, number: UInt64, size: UInt64, root: DirectoryHash, proof: [DirectoryHash]
    ) -> Bool {
        guard number < size else { return false }
        var (first, second) = (number, size - 1)
        var hash = leaf(head)
        for sibling in proof {
            guard second > 0 else { return false }
            if first & 1 == 1 || first == second {
                hash = node(sibling, hash)
                while first & 1 == 0, first > 0 { (first, second) = (first >> 1, second >> 1) }
            } else {
                hash = node(hash, sibling)
            }
            (first, second) = (first >> 1, second >> 1)
        }
        return second == 0 && hash == root
    }

    /// Whether a proof shows that a log began as a smaller one (RFC 9162 §2.1.4.2).
    static func isConsistent(
        earlier: UInt64, earlierRoot: DirectoryHash, size: UInt64, root: DirectoryHash, proof: [DirectoryHash]
    ) -> Bool {
        if earlier == 0 { return proof.isEmpty && earlierRoot == emptyRoot }
        guard earlier < size else { return earlier == size && proof.isEmpty && earlierRoot == root }
        var path = proof[...]
        if earlier & (earlier - 1) == 0 { path = ([earlierRoot] + proof)[...] }
        guard let start = path.popFirst() else { return false }
        var (first, second) = (earlier - 1, size - 1)
        while first & 1 == 1 { (first, second) = (first >> 1, second >> 1) }
        var (one, other) = (start, start)
        for sibling in path {
            guard second > 0 else { return false }
            if first & 1 == 1 || first == second {
                one = node(sibling, one)
                other = node(sibling, other)
                while first & 1 == 0, first > 0 { (first, second) = (first >> 1, second >> 1) }
            } else {
                other = node(other, sibling)
            }
            (first, second) = (first >> 1, second >> 1)
        }
        return second == 0 && one == earlierRoot && other == root
    }
}

/// The proof that a head and its history are part of a later head's history.
package struct HistoryProof: Hashable, Sendable {
    /// Shows the earlier head in the later one's log.
    package var inclusion: [DirectoryHash]
    /// Shows that the later head's log began as the earlier one's.
    package var consistency: [DirectoryHash]

    /// Creates a proof.
    package init(inclusion: [DirectoryHash], consistency: [DirectoryHash]) {
        self.inclusion = inclusion
        self.consistency = consistency
    }

    /// Verifies that the later of two heads continues the history of the earlier one. Both signatures have been verified.
    ///
    /// - Throws: `DirectoryError.forked`, `wentBack`.
    package func verify(from earlier: DirectoryHead, to later: DirectoryHead) throws(DirectoryError) {
        guard earlier.number <= later.number else {
            throw .wentBack(newest: later.number, seen: earlier.number)
        }
        let forked = DirectoryError.forked(one: earlier.number, other: later.number)
        if earlier.number == later.number {
            guard earlier.hash == later.hash else { throw forked }
            return
        }
        guard
            HeadLog.includes(
                earlier.hash, number: earlier.number, size: later.number, root: later.log, proof: inclusion),
            HeadLog.isConsistent(
                earlier: earlier.number, earlierRoot: earlier.log, size: later.number, root: later.log,
                proof: consistency)
        else { throw forked }
    }

    // MARK: Bytes

    /// A count and the hashes of each of both lists.
    package var bytes: [UInt8] {
        [inclusion, consistency].flatMap { hashes in [UInt8(hashes.count)] + hashes.flatMap(\.bytes) }
    }

    /// Reads the encoded form.
    package init(bytes: [UInt8]) throws(DirectoryError) {
        var reader = DirectoryReader(bytes, of: "history")
        func takeHashes() throws(DirectoryError) -> [DirectoryHash] {
            var hashes: [DirectoryHash] = []
            let count = try reader.takeByte()
            guard count <= 65 else { throw reader.malformed }
            for _ in 0..<count { hashes.append(try reader.takeHash()) }
            return hashes
        }
        inclusion = try takeHashes()
        consistency = try takeHashes()
        try reader.finish()
    }
}
