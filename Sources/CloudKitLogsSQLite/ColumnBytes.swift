/// The bytes of a column in a block: numbers of one, two or four bytes each, or none where all are the same.
///
/// The first byte is the width. Without a width the next four bytes are the number of all.
enum ColumnBytes {
    /// Writes numbers in the least width; those above 32 bits become the greatest.
    static func encode(_ numbers: [UInt32]) -> [UInt8] {
        let greatest = numbers.max() ?? 0
        let width = numbers.allSatisfy { $0 == greatest } ? 0 : greatest < 256 ? 1 : greatest < 65_536 ? 2 : 4
        var bytes: [UInt8] = [UInt8(width)]
        bytes.reserveCapacity(1 + max(width * numbers.count, 4))
        for number in width == 0 ? [greatest] : numbers {
            for byte in 0..<(width == 0 ? 4 : width) {
                bytes.append(UInt8(truncatingIfNeeded: number >> UInt32(8 * byte)))
            }
        }
        return bytes
    }

    /// Returns one number; nil for bytes of another form.
    static func number(at index: Int, in bytes: UnsafeRawBufferPointer) -> UInt32? {
        guard let width = bytes.first else { return nil }
        switch width {
        case 0: return bytes.count >= 5 ? load(bytes, 1) : nil
        case 1: return index + 1 < bytes.count ? UInt32(bytes[1 + index]) : nil
        case 2:
            guard 1 + 2 * index + 1 < bytes.count else { return nil }
            return UInt32(bytes[1 + 2 * index]) | UInt32(bytes[2 + 2 * index]) << 8
        case 4: return 4 * index + 4 < bytes.count ? load(bytes, 1 + 4 * index) : nil
        default: return nil
        }
    }

    private static func load(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
        UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    /// Keeps those of the marked entries whose number is accepted.
    ///
    /// - Parameter isAccepted: By number, as far as the column's numbers are positions; numbers beyond it are not accepted.
    static func keep(_ marks: inout [Bool], in bytes: UnsafeRawBufferPointer, where isAccepted: [Bool]) {
        guard let width = bytes.first else { return clear(&marks) }
        marks.withUnsafeMutableBufferPointer { marks in
            isAccepted.withUnsafeBufferPointer { accepted in
                let count = marks.count
                switch width {
                case 0:
                    let number = bytes.count >= 5 ? Int(load(bytes, 1)) : .max
                    if number >= accepted.count || !accepted[number] { for index in 0..<count { marks[index] = false } }
                case 1 where bytes.count > count:
                    for index in 0..<count where marks[index] {
                        let number = Int(bytes[1 + index])
                        marks[index] = number < accepted.count && accepted[number]
                    }
                case 2 where bytes.count > 2 * count:
                    for index in 0..<count where marks[index] {
                        let number = Int(bytes[1 + 2 * index]) | Int(bytes[2 + 2 * index]) << 8
                        marks[index] = number < accepted.count && accepted[number]
                    }
                default: for index in 0..<count { marks[index] = false }
                }
            }
        }
    }

    /// Keeps those of the marked entries whose number lies in a range.
    static func keep(_ marks: inout [Bool], in bytes: UnsafeRawBufferPointer, from lower: UInt32, to upper: UInt32) {
        for index in marks.indices where marks[index] {
            guard let number = number(at: index, in: bytes) else {
                marks[index] = false
                continue
            }
            marks[index] = number >= lower && number <= upper
        }
    }

    private static func clear(_ marks: inout [Bool]) {
        for index in marks.indices { marks[index] = false }
    }
}
