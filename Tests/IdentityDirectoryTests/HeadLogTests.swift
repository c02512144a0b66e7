import Testing

@testable import IdentityDirectory

/// A log of heads that keeps every complete subtree.
struct GrownLog {
    let key = [UInt8](repeating: 3, count: 32)
    let keys: DirectoryKeys
    var hashes: [HeadLog.Position: DirectoryHash] = [:]
    var heads: [DirectoryHead] = []

    init(keys: DirectoryKeys) { self.keys = keys }

    func fold(_ range: Range<UInt64>) -> DirectoryHash {
        HeadLog.fold(HeadLog.positions(of: range).compactMap { hashes[$0] })
    }

    mutating func append(root: DirectoryHash, count: UInt64) throws {
        let number = UInt64(heads.count)
        let head = try DirectoryHead(
            number: number, root: root, count: count, time: 1000 + number, previous: heads.last?.hash ?? .zero,
            log: fold(0..<number), key: key)
        let known = hashes
        for (position, hash) in try HeadLog.completed(by: number, head: head.hash, held: { known[$0] }) {
            hashes[position] = hash
        }
        heads.append(head)
    }

    func proof(from earlier: UInt64, to later: UInt64) -> HistoryProof {
        guard earlier < later else { return HistoryProof(inclusion: [], consistency: []) }
        return HistoryProof(
            inclusion: HeadLog.inclusion(of: earlier, size: later).map(fold),
            consistency: earlier == 0 ? [] : HeadLog.consistency(from: earlier, size: later).map(fold))
    }
}

@Suite(.timeLimit(.minutes(20))) struct HeadLogTests {
    private func log(_ count: Int, salt: UInt8 = 0, from start: Int = 0) throws -> GrownLog {
        let key = [UInt8](repeating: 3, count: 32)
        let signing = VerifiableRandomFunction(seed: key).publicKey
        var log = GrownLog(keys: DirectoryKeys(signing: signing, function: signing))
        for number in 0..<count {
            let salt = number >= start ? salt : 0
            try log.append(root: DirectoryHash(of: [UInt8(number), salt]), count: UInt64(number))
        }
        return log
    }

    @Test func `the history between any two heads is provable`() throws {
        let log = try log(40)
        for later in 0..<40 {
            try log.heads[later].verify(log.keys)
            for earlier in 0...later {
                let proof = log.proof(from: UInt64(earlier), to: UInt64(later))
                try HistoryProof(bytes: proof.bytes).verify(from: log.heads[earlier], to: log.heads[later])
            }
        }
    }

    @Test func `heads of two histories have no proof`() throws {
        let one = try log(30)
        let other = try log(30, salt: 1, from: 12)
        #expect(one.heads[11] == other.heads[11])
        for earlier in 12..<29 {
            for log in [one, other] {
                let proof = log.proof(from: UInt64(earlier), to: 29)
                #expect(throws: DirectoryError.forked(one: UInt64(earlier), other: 29)) {
                    try proof.verify(from: one.heads[earlier], to: other.heads[29])
                }
            }
        }
        #expect(throws: DirectoryError.forked(one: 29, other: 29)) {
            try one.proof(from: 29, to: 29).verify(from: one.heads[29], to: other.heads[29])
        }
        #expect(throws: DirectoryError.wentBack(newest: 11, seen: 20)) {
            try one.proof(from: 11, to: 11).verify(from: one.heads[20], to: one.heads[11])
        }
    }

    @Test func `a head survives its encoding, and a changed one is not signed`() throws {
        let log = try log(3)
        let head = log.heads[2]
        #expect(head.bytes.count == DirectoryHead.byteCount)
        #expect(try DirectoryHead(bytes: head.bytes) == head)
        for position in stride(from: 0, to: DirectoryHead.byteCount, by: 9) {
            var bytes = head.bytes
            bytes[position] ^= 1
            let changed = try DirectoryHead(bytes: bytes)
            #expect(throws: DirectoryError.badSignature) { try changed.verify(log.keys) }
        }
    }
}
