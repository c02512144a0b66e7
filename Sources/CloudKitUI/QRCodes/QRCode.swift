/// A QR code of bytes (ISO/IEC 18004, model 2), with error correction of level M, or L where M has no room.
struct QRCode: Hashable, Sendable {
    /// The number of modules of one side, without the margin.
    let side: Int
    /// The rows, from the top; true is dark.
    let modules: [[Bool]]

    /// The light modules around a code that readers need.
    static let margin = 4

    var sideWithMargin: Int { side + 2 * Self.margin }

    /// Encodes the bytes in the smallest version that holds them; nil beyond version 40.
    ///
    /// - Parameter mask: The pattern; nil: the one with the least penalty.
    init?(_ bytes: [UInt8], mask: Int? = nil) {
        for level in [QRLevel.medium, .low] {
            guard let version = QRVersion.smallest(for: bytes.count, level: level) else { continue }
            let codewords = version.codewords(of: bytes, level: level)
            var best: (penalty: Int, modules: [[Bool]])?
            for pattern in mask.map({ [$0] }) ?? Array(0..<8) {
                var grid = QRGrid(version)
                grid.place(codewords, mask: pattern)
                grid.drawFormat(level: level, mask: pattern)
                let penalty = mask == nil ? grid.penalty : 0
                if best.map({ penalty < $0.penalty }) ?? true { best = (penalty, grid.modules) }
            }
            guard let best else { return nil }
            side = version.side
            modules = best.modules
            return
        }
        return nil
    }

    /// The dark modules as the path of an SVG whose unit is a module, margin included.
    var path: String {
        var path = ""
        for (y, row) in modules.enumerated() {
            var x = 0
            while x < side {
                guard row[x] else {
                    x += 1
                    continue
                }
                let end = row[x...].firstIndex(of: false) ?? side
                path += "M\(x + Self.margin) \(y + Self.margin)h\(end - x)v1h-\(end - x)z"
                x = end
            }
        }
        return path
    }

    /// The code as lines of half blocks, two rows of modules a line, for a terminal with light text on a dark background.
    var lines: [String] {
        func isLight(_ x: Int, _ y: Int) -> Bool {
            let (x, y) = (x - 2, y - 2)
            guard (0..<side).contains(x), (0..<side).contains(y) else { return y < side + 2 }
            return !modules[y][x]
        }
        // Two modules of margin are enough on a screen.
        return stride(from: 0, to: side + 4, by: 2).map { y in
            String(
                (0..<side + 4).map { x -> Character in
                    switch (isLight(x, y), isLight(x, y + 1)) {
                    case (true, true): "█"
                    case (true, false): "▀"
                    case (false, true): "▄"
                    case (false, false): " "
                    }
                })
        }
    }
}

/// How much of a code may be unreadable.
enum QRLevel: Int, Sendable {
    /// 7 %.
    case low
    /// 15 %.
    case medium

    /// The bits in the format of a code.
    var formatBits: Int { self == .low ? 1 : 0 }

    /// The codewords of error correction in each block, by version.
    fileprivate var correctionCounts: [Int] {
        switch self {
        case .low:
            [
                7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22, 24, 28, 30, 28, 28, 28, 28, 30, 30, 26, 28,
                30,
                30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
            ]
        case .medium:
            [
                10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26, 26, 28, 28, 28, 28, 28,
                28,
                28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
            ]
        }
    }

    /// The number of blocks, by version.
    fileprivate var blockCounts: [Int] {
        switch self {
        case .low:
            [
                1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6, 6, 6, 7, 8, 8, 9, 9, 10, 12, 12, 12, 13, 14, 15, 16, 17,
                18,
                19, 19, 20, 21, 22, 24, 25,
            ]
        case .medium:
            [
                1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16, 17, 17, 18, 20, 21, 23, 25, 26, 28,
                29, 31,
                33, 35, 37, 38, 40, 43, 45, 47, 49,
            ]
        }
    }
}

/// The size of a code, 1 to 40.
struct QRVersion: Hashable, Sendable {
    let number: Int

    var side: Int { 17 + 4 * number }

    /// The bits of the field that counts the bytes.
    private var countBits: Int { number < 10 ? 8 : 16 }

    static func smallest(for bytes: Int, level: QRLevel) -> QRVersion? {
        (1...40).lazy.map { QRVersion(number: $0) }.first {
            4 + $0.countBits + 8 * bytes <= 8 * $0.dataCount(level)
        }
    }

    /// The modules that hold data and correction.
    private var rawModuleCount: Int {
        var count = (16 * number + 128) * number + 64
        if number >= 2 {
            let positions = number / 7 + 2
            count -= (25 * positions - 10) * positions - 55
            if number >= 7 { count -= 36 }
        }
        return count
    }

    func dataCount(_ level: QRLevel) -> Int {
        rawModuleCount / 8 - level.correctionCounts[number - 1] * level.blockCounts[number - 1]
    }

    /// The centres of alignment patterns on one axis.
    var alignmentPositions: [Int] {
        guard number > 1 else { return [] }
        let count = number / 7 + 2
        let step = number == 32 ? 26 : (number * 4 + count * 2 + 1) / (count * 2 - 2) * 2
        return [6] + (0..<count - 1).reversed().map { side - 7 - $0 * step }
    }

    /// Returns all codewords of a code in their order.
    func codewords(of bytes: [UInt8], level: QRLevel) -> [UInt8] {
        let blockCount = level.blockCounts[number - 1]
        let correctionCount = level.correctionCounts[number - 1]
        let data = self.data(of: bytes, level: level)
        let shortCount = data.count / blockCount
        let longBlocks = data.count % blockCount
        var blocks: [[UInt8]] = []
        var start = 0
        for index in 0..<blockCount {
            let count = shortCount + (index >= blockCount - longBlocks ? 1 : 0)
            blocks.append(Array(data[start..<start + count]))
            start += count
        }
        let divisor = ReedSolomon.divisor(degree: correctionCount)
        let corrections = blocks.map { ReedSolomon.remainder(of: $0, by: divisor) }
        var words: [UInt8] = []
        for index in 0...shortCount { words += blocks.compactMap { index < $0.count ? $0[index] : nil } }
        for index in 0..<correctionCount { words += corrections.map { $0[index] } }
        return words
    }

    /// Returns the data: mode, count, bytes and padding.
    private func data(of bytes: [UInt8], level: QRLevel) -> [UInt8] {
        var bits: [Bool] = []
        func append(_ value: Int, _ count: Int) {
            for bit in (0..<count).reversed() { bits.append(value >> bit & 1 == 1) }
        }
        append(0b0100, 4)
        append(bytes.count, countBits)
        for byte in bytes { append(Int(byte), 8) }
        let capacity = 8 * dataCount(level)
        append(0, min(4, capacity - bits.count))
        append(0, (8 - bits.count % 8) % 8)
        var padding = 0xEC
        while bits.count < capacity {
            append(padding, 8)
            padding ^= 0xEC ^ 0x11
        }
        return stride(from: 0, to: bits.count, by: 8).map { start in
            bits[start..<start + 8].reduce(0) { $0 << 1 | ($1 ? 1 : 0) }
        }
    }
}
