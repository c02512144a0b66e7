import CloudKitEncryption
import SeededChance
import Testing

@Suite(.timeLimit(.minutes(20))) struct AssetTests {
    private let fixtures = Fixtures()
    private static let sizes = [0, 1, 65_535, 65_536, 65_537, 131_072, 200_000]

    private func file(_ size: Int) -> [UInt8] { (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) } }

    private func secret(_ file: [UInt8]) throws -> AssetSecret {
        var checksum = PlainAssetChecksum()
        checksum.update(file)
        return try AssetSecret(plainSize: file.count, plainSHA256: checksum.sha256, random: fixtures.random)
    }

    private func sealed(_ file: [UInt8], _ secret: AssetSecret) throws -> [UInt8] {
        let sealer = try AssetSealer(secret)
        var output: [UInt8] = []
        for index in 0..<sealer.layout.chunkCount {
            try sealer.seal(chunk: index, file[sealer.layout.plainRange(ofChunk: index)], into: &output)
        }
        return output
    }

    private func opened(_ sealed: [UInt8], _ secret: AssetSecret) throws -> [UInt8] {
        let opener = try AssetOpener(secret)
        try opener.check(sealedSize: sealed.count)
        var output: [UInt8] = []
        for index in 0..<opener.layout.chunkCount {
            try opener.open(chunk: index, sealed[opener.layout.sealedRange(ofChunk: index)], into: &output)
        }
        return output
    }

    @Test(arguments: sizes) func `B-E2E-05 a file is sealed in chunks and opens again`(size: Int) throws {
        let file = file(size)
        let secret = try AssetSecret(bytes: secret(file).bytes)
        let sealed = try sealed(file, secret)
        #expect(sealed.count == (try AssetLayout(plainSize: size).sealedSize))
        #expect(try opened(sealed, secret) == file)
    }

    @Test(arguments: sizes) func `sizes and places follow from each other`(size: Int) throws {
        let layout = try AssetLayout(plainSize: size)
        #expect(try AssetLayout(sealedSize: layout.sealedSize) == layout)
        var end = 0
        for index in 0..<layout.chunkCount {
            let range = layout.sealedRange(ofChunk: index)
            #expect(range.lowerBound == end)
            end = range.upperBound
            #expect(layout.chunk(atSealedOffset: range.lowerBound) == index)
            #expect(layout.chunk(atSealedOffset: range.upperBound - 1) == index)
        }
        #expect(end == layout.sealedSize)
        #expect(layout.chunk(atSealedOffset: end) == layout.chunkCount)
    }

    @Test func `impossible sizes are refused`() throws {
        for size in [-1, 0, 20, 65_557 + 1, 65_557 + 16] {
            #expect(throws: EncryptionError.self) { try AssetLayout(sealedSize: size) }
        }
        #expect(try AssetLayout(sealedSize: 21).plainSize == 0)
        #expect(try AssetLayout(sealedSize: 65_557 + 17).plainSize == 65_537)
        for size in [-1, Int.min, Int.max] {
            #expect(throws: EncryptionError.self) { try AssetLayout(plainSize: size) }
        }
        #expect(throws: EncryptionError.self) { try AssetLayout(sealedSize: Int.max) }
    }

    @Test func `a broken upload goes on: a chunk sealed again has the same bytes`() throws {
        let file = file(200_000)
        let secret = try secret(file)
        let whole = try sealed(file, secret)
        let sealer = try AssetSealer(try AssetSecret(bytes: secret.bytes))
        let range = sealer.layout.sealedRange(ofChunk: 2)
        var again: [UInt8] = []
        try sealer.seal(chunk: 2, file[sealer.layout.plainRange(ofChunk: 2)], into: &again)
        #expect(again == Array(whole[range]))
    }

    @Test func `a file that changed is sealed under another key`() throws {
        let random = Randomness(SplitMix64(seed: 1))
        let same = Randomness(SplitMix64(seed: 1))
        let one = try AssetSecret(plainSize: 3, plainSHA256: Array(repeating: 1, count: 32), random: random)
        let other = try AssetSecret(plainSize: 3, plainSHA256: Array(repeating: 2, count: 32), random: same)
        #expect(try sealed([1, 2, 3], one) != sealed([1, 2, 3], other))
        var output: [UInt8] = []
        #expect(throws: EncryptionError.self) { try AssetSealer(one).seal(chunk: 0, [1, 2] as [UInt8], into: &output) }
        #expect(output.isEmpty)
    }

    @Test func `B-TM-04 truncation, reordering, exchange and changes show`() throws {
        let file = file(200_000)
        let secret = try secret(file)
        let whole = try sealed(file, secret)
        #expect(throws: EncryptionError.truncated(.asset)) { try opened(Array(whole.dropLast()), secret) }
        #expect(throws: EncryptionError.self) { try opened(whole + [0], secret) }
        // Cut at the end of a chunk, as if the file were shorter.
        let shorter = try AssetSecret(
            plainSize: 131_072, plainSHA256: secret.plainSHA256, random: Randomness(SplitMix64(seed: 1)))
        let cut = try AssetLayout(plainSize: 131_072).sealedSize
        #expect(throws: EncryptionError.doesNotOpen(.asset)) { try opened(Array(whole[..<cut]), shorter) }
        let layout = try AssetLayout(plainSize: file.count)
        let opener = try AssetOpener(secret)
        var output: [UInt8] = []
        #expect(throws: EncryptionError.doesNotOpen(.asset)) {
            try opener.open(chunk: 1, whole[layout.sealedRange(ofChunk: 2).lowerBound...].prefix(65_552), into: &output)
        }
        #expect(throws: EncryptionError.truncated(.asset)) {
            try opener.open(chunk: 1, whole[..<10], into: &output)
        }
        #expect(throws: EncryptionError.self) { try opener.open(chunk: 9, whole[...], into: &output) }
        for index in [0, 1, 5, 70_000, whole.count - 1] {
            var changed = whole
            changed[index] ^= 1
            #expect(throws: EncryptionError.self) { try opened(changed, secret) }
        }
        #expect(output.isEmpty)
    }
}
