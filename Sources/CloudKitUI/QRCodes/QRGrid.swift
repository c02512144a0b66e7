/// The modules of a code while it is drawn.
struct QRGrid {
    private let version: QRVersion
    private(set) var modules: [[Bool]]
    /// The modules that hold no data.
    private var isFixed: [[Bool]]

    private var side: Int { version.side }

    /// Draws the patterns that all codes of a version have.
    init(_ version: QRVersion) {
        self.version = version
        let row = [Bool](repeating: false, count: version.side)
        modules = [[Bool]](repeating: row, count: version.side)
        isFixed = modules
        for index in 0..<side {
            fix(x: 6, y: index, index % 2 == 0)
            fix(x: index, y: 6, index % 2 == 0)
        }
        for (x, y) in [(3, 3), (side - 4, 3), (3, side - 4)] { drawFinder(x: x, y: y) }
        let positions = version.alignmentPositions
        for x in positions {
            for y in positions where !isFinder(x: x, y: y) { drawAlignment(x: x, y: y) }
        }
        // Reserves the modules of the format.
        drawFormat(level: .low, mask: 0)
        drawVersion()
    }

    private func isFinder(x: Int, y: Int) -> Bool {
        [(6, 6), (6, side - 7), (side - 7, 6)].contains { $0 == (x, y) }
    }

    private mutating func fix(x: Int, y: Int, _ isDark: Bool) {
        modules[y][x] = isDark
        isFixed[y][x] = true
    }

    private mutating func drawFinder(x: Int, y: Int) {
        for dy in -4...4 {
            for dx in -4...4 where (0..<side).contains(x + dx) && (0..<side).contains(y + dy) {
                let distance = max(abs(dx), abs(dy))
                fix(x: x + dx, y: y + dy, distance != 2 && distance != 4)
            }
        }
    }

    private mutating func drawAlignment(x: Int, y: Int) {
        for dy in -2...2 {
            for dx in -2...2 { fix(x: x + dx, y: y + dy, max(abs(dx), abs(dy)) != 1) }
        }
    }

    /// Draws level and mask, twice.
    mutating func drawFormat(level: QRLevel, mask: Int) {
        let data = level.formatBits << 3 | mask
        var remainder = data
        for _ in 0..<10 { remainder = remainder << 1 ^ (remainder >> 9) * 0x537 }
        let bits = (data << 10 | remainder) ^ 0x5412
        func bit(_ index: Int) -> Bool { bits >> index & 1 == 1 }
        for index in 0...5 { fix(x: 8, y: index, bit(index)) }
        fix(x: 8, y: 7, bit(6))
        fix(x: 8, y: 8, bit(7))
        fix(x: 7, y: 8, bit(8))
        for index in 9..<15 { fix(x: 14 - index, y: 8, bit(index)) }
        for index in 0..<8 { fix(x: side - 1 - index, y: 8, bit(index)) }
        for index in 8..<15 { fix(x: 8, y: side - 15 + index, bit(index)) }
        fix(x: 8, y: side - 8, true)
    }

    private mutating func drawVersion() {
        guard version.number >= 7 else { return }
        var remainder = version.number
        for _ in 0..<12 { remainder = remainder << 1 ^ (remainder >> 11) * 0x1F25 }
        let bits = version.number << 12 | remainder
        for index in 0..<18 {
            let isDark = bits >> index & 1 == 1
            let (far, near) = (side - 11 + index % 3, index / 3)
            fix(x: far, y: near, isDark)
            fix(x: near, y: far, isDark)
        }
    }

    /// Places the codewords in columns of two from the right, with a mask.
    mutating func place(_ codewords: [UInt8], mask: Int) {
        var index = 0
        var right = side - 1
        while right >= 1 {
            if right == 6 { right = 5 }
            for step in 0..<side {
                let isUpward = (right + 1) & 2 == 0
                let y = isUpward ? side - 1 - step : step
                for x in [right, right - 1] where !isFixed[y][x] {
                    let isSet = index < codewords.count * 8 && codewords[index / 8] >> (7 - UInt8(index % 8)) & 1 == 1
                    modules[y][x] = isSet != Self.isInverted(x: x, y: y, by: mask)
                    index += 1
                }
            }
            right -= 2
        }
    }

    private static func isInverted(x: Int, y: Int, by mask: Int) -> Bool {
        switch mask {
        case 0: (x + y) % 2 == 0
        case 1: y % 2 == 0
        case 2: x % 3 == 0
        case 3: (x + y) % 3 == 0
        case 4: (x / 3 + y / 2) % 2 == 0
        case 5: x * y % 2 + x * y % 3 == 0
        case 6: (x * y % 2 + x * y % 3) % 2 == 0
        default: ((x + y) % 2 + x * y % 3) % 2 == 0
        }
    }

    // MARK: Penalty

    /// How hard the code is to read; the mask with the least is chosen.
    var penalty: Int {
        let columns = (0..<side).map { x in modules.map { $0[x] } }
        let runs = (modules + columns).reduce(0) { $0 + Self.runPenalty($1) + Self.finderPenalty($1) }
        return runs + blockPenalty + balancePenalty
    }

    /// Runs of five or more of one colour.
    private static func runPenalty(_ line: [Bool]) -> Int {
        var (penalty, length) = (0, 1)
        for index in 1...line.count {
            if index < line.count, line[index] == line[index - 1] {
                length += 1
            } else {
                if length >= 5 { penalty += length - 2 }
                length = 1
            }
        }
        return penalty
    }

    /// What looks like a finder pattern beside light modules.
    private static func finderPenalty(_ line: [Bool]) -> Int {
        let finder: [Bool] = [true, false, true, true, true, false, true]
        let light = [Bool](repeating: false, count: 4)
        guard line.count >= 11 else { return 0 }
        return (0...line.count - 11).reduce(0) { penalty, start in
            let window = Array(line[start..<start + 11])
            return penalty + (window == finder + light ? 40 : 0) + (window == light + finder ? 40 : 0)
        }
    }

    /// Squares of two by two of one colour.
    private var blockPenalty: Int {
        var penalty = 0
        for y in 0..<side - 1 {
            for x in 0..<side - 1 {
                let colour = modules[y][x]
                let isSame =
                    modules[y][x + 1] == colour && modules[y + 1][x] == colour && modules[y + 1][x + 1] == colour
                if isSame { penalty += 3 }
            }
        }
        return penalty
    }

    /// Distance from equally many dark and light modules.
    private var balancePenalty: Int {
        let dark = modules.reduce(0) { $0 + $1.count { $0 } }
        return abs(dark * 20 - side * side * 10) / (side * side) * 10
    }
}
