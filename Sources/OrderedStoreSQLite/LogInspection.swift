import OrderedStore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The state of a store's write-ahead log, read from its file before SQLite repairs it.
///
/// SQLite reads a log up to the first frame whose checksum does not hold and forgets the rest, as is right after a power cut:
/// the rest was never acknowledged. When two or more commits follow a bad frame, though, the first of them was durable before
/// the second began: then the log was damaged, and acknowledged commits are lost.
package struct LogInspection: Hashable, Sendable {
    /// Commits that SQLite recovers.
    package private(set) var commits = 0
    /// Commits behind the first frame whose checksum does not hold.
    package private(set) var commitsBehindDamage = 0

    /// Whether acknowledged commits are lost.
    package var hasLostCommits: Bool { commitsBehindDamage >= 2 }

    private static let headerBytes = 32
    private static let frameHeaderBytes = 24

    /// Reads the log of a store; a missing or empty one holds nothing.
    package init(storePath: String) {
        guard let file = fopen(storePath + "-wal", "rb") else { return }
        defer { fclose(file) }
        var header = Bytes(repeating: 0, count: Self.headerBytes)
        guard fread(&header, 1, header.count, file) == header.count else { return }
        var state = LogChecksum(isBigEndian: header[3] & 1 == 1)
        state.add(header[..<24])
        var isWhole = state.first == header.word(24) && state.second == header.word(28)
        var frame = Bytes(repeating: 0, count: Self.frameHeaderBytes + Format.pageBytes)
        // The frames of a log all carry its salts; those of a damaged header are taken from the first frame.
        var salts: (UInt32, UInt32)? = isWhole ? (header.word(16), header.word(20)) : nil
        while fread(&frame, 1, frame.count, file) == frame.count {
            let held = (frame.word(8), frame.word(12))
            let expected = salts ?? held
            salts = expected
            let isOfLog = held == expected
            if isWhole {
                state.add(frame[..<8])
                state.add(frame[Self.frameHeaderBytes...])
                isWhole = isOfLog && state.first == frame.word(16) && state.second == frame.word(20)
            }
            guard isOfLog, frame.word(4) != 0 else { continue }
            if isWhole { commits += 1 } else { commitsBehindDamage += 1 }
        }
    }
}

/// The checksum of SQLite's log, which goes on from frame to frame.
struct LogChecksum {
    var first: UInt32 = 0
    var second: UInt32 = 0
    let isBigEndian: Bool

    mutating func add(_ bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBytes { buffer in
            for offset in stride(from: 0, to: buffer.count & ~7, by: 8) {
                first = first &+ word(buffer, offset) &+ second
                second = second &+ word(buffer, offset + 4) &+ first
            }
        }
    }

    private func word(_ buffer: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
        let word = buffer.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
        return isBigEndian ? UInt32(bigEndian: word) : UInt32(littleEndian: word)
    }
}

extension [UInt8] {
    /// The number in four bytes, the highest first.
    func word(_ offset: Int) -> UInt32 {
        self[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
