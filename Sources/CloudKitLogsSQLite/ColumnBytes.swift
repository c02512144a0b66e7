/// The bytes of a column in a block: numbers of one, two or four bytes each, or none where all are the same.
///
/// The first byte is the width. Without a width the next four bytes are the number of all.
enum ColumnBytes {
    /// Writes numbers in the least width; those above 32 bits become the greatest.
    static func encode(_ numbers: [UInt32]) -> [UInt8] {
        let greatest = numbers.max() ?? 0
        if numbers.allSatisfy({ $0 == greatest }) {
            return [0] + withUnsafeBytes(of: greatest.littleEndian) { Array($0) }
        }
        let width = greatest < 256 ? 1 : greatest < 65_536 ? 2 : 4
        return [UInt8](unsafeUninitializedCapacity: 1 + width * numbers.count) { bytes, count in
            bytes[0] = UInt8(width)
            count = 1
            for number in numbers {
                bytes[count] = UInt8(truncatingIfNeeded: number)
                if width > 1 { bytes[count + 1] = UInt8(truncatingIfNeeded: number >> 8) }
                if width > 2 {
                    bytes[count + 2] = UInt8(truncatingIfNeeded: number >> 16)
                    bytes[count + 3] = UInt8(truncatingIfNeeded: number >> 24)
                }
                count += width
            }
        }
    }

    /// Returns the distinct numbers in order, and the position of each number among them.
    static func positions(of numbers: [UInt32]) -> (distinct: [UInt32], positions: [UInt32]) {
        // In the order of their first appearance at first, so that each number is looked up once.
        var distinct: [UInt32] = []
        var known: [UInt32: UInt32] = [:]
        var found = [UInt32](repeating: 0, count: numbers.count)
        var last: UInt32?
        var place: UInt32 = 0
        for (index, number) in numbers.enumerated() {
            if number != last {
                if let earlier = known[number] {
                    place = earlier
                } else {
                    place = UInt32(distinct.count)
                    known[number] = place
                    distinct.append(number)
                }
                last = number
            }
            found[index] = place
        }
        if distinct.count < 2 { return (distinct, found) }
        let order = distinct.indices.sorted { distinct[$0] < distinct[$1] }
        var moved = [UInt32](repeating: 0, count: distinct.count)
        for (position, index) in order.enumerated() { moved[index] = UInt32(position) }
        return (order.map { distinct[$0] }, found.map { moved[Int($0)] })
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
