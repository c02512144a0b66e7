/// A short list of byte strings that lie one after the other in one piece of memory.
///
/// As objects of their own, short strings take twice the memory, and lie between objects that come and go.
struct PackedBytes: Sendable {
    private var bytes: Bytes = []
    /// For each string the index in `bytes` behind its last byte.
    private var ends: [Int32] = []

    init() {}

    /// Creates a list of some strings of another one, without the first `dropped` bytes of each.
    init(_ range: Range<Int>, of other: PackedBytes, dropping dropped: Int) {
        if range.isEmpty { return }
        let length = other.place(at: range.upperBound - 1).upperBound - other.place(at: range.lowerBound).lowerBound
        bytes.reserveCapacity(length - dropped * range.count)
        ends.reserveCapacity(range.count)
        for index in range {
            bytes += other.bytes[other.place(at: index).dropFirst(dropped)]
            ends.append(Int32(bytes.count))
        }
    }

    var count: Int { ends.count }
    var isEmpty: Bool { ends.isEmpty }
    var indices: Range<Int> { ends.indices }

    /// The number of bytes of a string.
    func length(at index: Int) -> Int { place(at: index).count }

    /// Calls `body` with the bytes of a string.
    @inline(__always)
    func withBytes<Result>(at index: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[place(at: index)])) }
    }

    /// Inserts a string before the one at an index, or at the end.
    mutating func insert(_ string: UnsafeRawBufferPointer, at index: Int) {
        let start = index == 0 ? 0 : Int(ends[index - 1])
        let end = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: string.count))
        bytes.withUnsafeMutableBytes { bytes in
            let behind = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
            UnsafeMutableRawBufferPointer(rebasing: bytes[(start + string.count)...]).copyMemory(from: behind)
            UnsafeMutableRawBufferPointer(rebasing: bytes[start...]).copyMemory(from: string)
        }
        ends.insert(Int32(start), at: index)
        moveEnds(from: index, by: string.count)
    }

    mutating func removeSubrange(_ range: Range<Int>) {
        if range.isEmpty { return }
        let removed = place(at: range.lowerBound).lowerBound..<place(at: range.upperBound - 1).upperBound
        bytes.removeSubrange(removed)
        ends.removeSubrange(range)
        moveEnds(from: range.lowerBound, by: -removed.count)
    }

    /// Puts the same bytes before each string.
    mutating func prepend(_ prefix: Bytes) {
        var longer = Bytes()
        longer.reserveCapacity(bytes.count + prefix.count * (count + 1))
        for index in indices {
            longer += prefix
            longer += bytes[place(at: index)]
        }
        for index in indices { ends[index] += Int32(prefix.count * (index + 1)) }
        bytes = longer
    }

    @inline(__always)
    private func place(at index: Int) -> Range<Int> {
        (index == 0 ? 0 : Int(ends[index - 1]))..<Int(ends[index])
    }

    private mutating func moveEnds(from index: Int, by distance: Int) {
        ends.withUnsafeMutableBufferPointer { ends in
            for later in index..<ends.count { ends[later] += Int32(distance) }
        }
    }
}
