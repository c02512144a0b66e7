import Foundation

/// The structure of a property list in its binary form, as far as Foundation relies on it.
///
/// Foundation's reader ends the process at some damages, such as keys that are no strings and containers that contain themselves.
struct BinaryPropertyList {
    private let bytes: [UInt8]
    private let offsets: [Int]
    private let referenceSize: Int
    private let top: Int

    /// In keyed archives a reference is in a list, in an object, in the table of objects, in the top.
    private static let heightMax = 6

    private static let magic = Array("bplist00".utf8)

    /// A Boolean value that indicates whether data can be given to Foundation: sound, or not of this form at all.
    static func isReadable(_ data: Data) -> Bool {
        guard data.starts(with: magic) else { return true }
        guard let list = BinaryPropertyList(Array(data)) else { return false }
        return list.isSound
    }

    /// nil: the table of offsets is not within the data.
    private init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.magic.count + 32 else { return nil }
        let trailer = bytes.suffix(26)
        let at = trailer.startIndex
        let (offsetSize, referenceSize) = (Int(bytes[at]), Int(bytes[at + 1]))
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize),
            let count = Self.number(bytes[(at + 2)..<(at + 10)]), let top = Self.number(bytes[(at + 10)..<(at + 18)]),
            let table = Self.number(bytes[(at + 18)..<(at + 26)]), count > 0, top < count, count <= bytes.count,
            table >= Self.magic.count, table <= bytes.count - 32, (bytes.count - 32 - table) / offsetSize >= count
        else { return nil }
        var offsets: [Int] = []
        offsets.reserveCapacity(count)
        for index in 0..<count {
            let start = table + index * offsetSize
            guard let offset = Self.number(bytes[start..<(start + offsetSize)]),
                offset >= Self.magic.count, offset < table
            else { return nil }
            offsets.append(offset)
        }
        self.bytes = bytes
        self.offsets = offsets
        self.referenceSize = referenceSize
        self.top = top
    }

    /// nil for a number that no size or position can be.
    private static func number(_ bytes: ArraySlice<UInt8>) -> Int? {
        var value: UInt64 = 0
        for byte in bytes {
            guard value < 1 << 40 else { return nil }
            value = value << 8 | UInt64(byte)
        }
        return Int(exactly: value)
    }

    private var isSound: Bool {
        var heights: [Int?] = Array(repeating: nil, count: offsets.count)
        return height(of: top, &heights, below: 0) != nil
    }

    /// Returns how deep the values in an object are nested; nil: it is damaged, or too deep.
    private func height(of index: Int, _ heights: inout [Int?], below: Int) -> Int? {
        guard below <= Self.heightMax else { return nil }
        if let known = heights[index] { return below + known <= Self.heightMax ? known : nil }
        guard let references = references(in: index) else { return nil }
        var height = 0
        for reference in references {
            guard let inner = self.height(of: reference, &heights, below: below + 1) else { return nil }
            height = max(height, inner + 1)
        }
        heights[index] = height
        return height
    }

    /// The objects that an object refers to; nil: it is damaged, or nothing that an archive holds.
    private func references(in index: Int) -> [Int]? {
        let offset = offsets[index]
        let (kind, detail) = (bytes[offset] >> 4, Int(bytes[offset] & 15))
        switch kind {
        case 0x0: return detail == 8 || detail == 9 ? [] : nil
        case 0x1: return detail <= 4 && has(1 << detail, after: offset) ? [] : nil
        case 0x2: return (2...3).contains(detail) && has(1 << detail, after: offset) ? [] : nil
        case 0x4: return run(at: offset, size: 1) == nil ? nil : []
        case 0x5:
            return run(at: offset, size: 1).flatMap { run in
                bytes[run.start..<(run.start + run.count)].allSatisfy { $0 < 0x80 } ? [] : nil
            }
        case 0x6: return run(at: offset, size: 2) == nil ? nil : []
        case 0x8: return detail <= 3 && has(detail + 1, after: offset) ? [] : nil
        case 0xA:
            return run(at: offset, size: referenceSize).flatMap { references(at: $0.start, count: $0.count) }
        case 0xD:
            guard let run = run(at: offset, size: 2 * referenceSize),
                let all = references(at: run.start, count: 2 * run.count),
                all.prefix(run.count).allSatisfy({ isString($0) })
            else { return nil }
            return all
        default: return nil
        }
    }

    private func isString(_ index: Int) -> Bool {
        let kind = bytes[offsets[index]] >> 4
        return kind == 0x5 || kind == 0x6
    }

    private func has(_ count: Int, after offset: Int) -> Bool { offset + 1 + count <= bytes.count - 32 }

    /// The number of elements of an object and the position of the first; nil: they are not within the data.
    private func run(at offset: Int, size: Int) -> (start: Int, count: Int)? {
        var (start, count) = (offset + 1, Int(bytes[offset] & 15))
        if count == 15 {
            guard start < bytes.count - 32, bytes[start] >> 4 == 0x1, bytes[start] & 15 <= 3 else { return nil }
            let width = 1 << Int(bytes[start] & 15)
            guard has(width, after: start),
                let written = Self.number(bytes[(start + 1)..<(start + 1 + width)])
            else { return nil }
            (start, count) = (start + 1 + width, written)
        }
        guard count <= (bytes.count - 32 - start) / size else { return nil }
        return (start, count)
    }

    private func references(at start: Int, count: Int) -> [Int]? {
        var references: [Int] = []
        references.reserveCapacity(count)
        for index in 0..<count {
            let place = start + index * referenceSize
            guard let reference = Self.number(bytes[place..<(place + referenceSize)]), reference < offsets.count else {
                return nil
            }
            references.append(reference)
        }
        return references
    }
}
