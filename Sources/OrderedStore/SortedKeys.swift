/// A short sorted list of keys, without doubles.
///
/// The keys lie in one piece of memory, without the bytes with which all of them begin. Beside them lies for each a number of its next eight
/// bytes: a search reads these numbers, and few keys.
struct SortedKeys: Sendable {
    /// The bytes with which all keys begin; fewer than there are at times.
    private var prefix: Bytes = []
    /// The first eight bytes of each key behind the prefix, as a number; missing bytes are zeros.
    private var heads: [UInt64] = []
    /// What follows the prefix in each key.
    private var suffixes = PackedBytes()

    init() {}

    /// Creates a list of some keys of another one.
    private init(_ range: Range<Int>, of other: SortedKeys) {
        if range.isEmpty { return }
        let shared = other.suffixes.withBytes(at: range.lowerBound) { first in
            let shared = other.suffixes.withBytes(at: range.upperBound - 1) { Self.sharedCount(first, $0) }
            prefix = other.prefix + first[..<shared]
            return shared
        }
        suffixes = PackedBytes(range, of: other.suffixes, dropping: shared)
        setHeads()
    }

    var count: Int { suffixes.count }
    var isEmpty: Bool { suffixes.isEmpty }
    var indices: Range<Int> { suffixes.indices }

    /// A copy of the key at an index.
    subscript(index: Int) -> Bytes {
        suffixes.withBytes(at: index) { suffix in
            Bytes(unsafeUninitializedCapacity: prefix.count + suffix.count) { buffer, count in
                let bytes = UnsafeMutableRawBufferPointer(buffer)
                prefix.withUnsafeBytes { bytes.copyMemory(from: $0) }
                UnsafeMutableRawBufferPointer(rebasing: bytes[prefix.count...]).copyMemory(from: suffix)
                count = prefix.count + suffix.count
            }
        }
    }

    /// Whether the key at an index comes before `key`.
    func key(at index: Int, precedes key: Bytes) -> Bool { order(of: key, toKeyAt: index) > 0 }

    /// Whether `key` is the one at an index.
    func key(at index: Int, equals key: Bytes) -> Bool {
        prefix.count + suffixes.length(at: index) == key.count && order(of: key, toKeyAt: index) == 0
    }

    /// The index of the first key that is not before `key`, or the number of keys.
    func firstIndex(notBefore key: Bytes) -> Int {
        if isEmpty { return 0 }
        let order = orderToPrefix(of: key)
        if order != 0 { return order < 0 ? 0 : count }
        let head = Self.head(of: key, at: prefix.count)
        var (index, end) = heads.withUnsafeBufferPointer { heads in
            let low = Self.lowerBound(of: head, in: heads, from: 0)
            // Seldom more than one.
            var high = low
            if high < heads.count, heads[high] == head { high += 1 }
            if high < heads.count, high > low, heads[high] == head {
                high = head == .max ? heads.count : Self.lowerBound(of: head + 1, in: heads, from: high)
            }
            return (low, high)
        }
        while index < end {
            let middle = (index + end) / 2
            if orderBehindPrefix(of: key, toKeyAt: middle) > 0 { index = middle + 1 } else { end = middle }
        }
        return index
    }

    /// The number of keys that are not behind `key`.
    func count(notBehind key: Bytes) -> Int {
        let index = firstIndex(notBefore: key)
        return index < count && self.key(at: index, equals: key) ? index + 1 : index
    }

    /// Inserts a key at the index at which it belongs.
    mutating func insert(_ key: Bytes, at index: Int) {
        if isEmpty {
            prefix = key
        } else {
            let shared = prefix.withUnsafeBytes { prefix in key.withUnsafeBytes { Self.sharedCount(prefix, $0) } }
            if shared < prefix.count { shortenPrefix(to: shared) }
        }
        key.withUnsafeBytes { suffixes.insert(UnsafeRawBufferPointer(rebasing: $0[prefix.count...]), at: index) }
        heads.insert(Self.head(of: key, at: prefix.count), at: index)
    }

    /// Puts another key in the place of the first one.
    mutating func replaceFirst(by key: Bytes) {
        if self.key(at: 0, equals: key) { return }
        remove(at: 0)
        insert(key, at: 0)
    }

    mutating func remove(at index: Int) {
        removeSubrange(index..<(index + 1))
    }

    mutating func removeSubrange(_ range: Range<Int>) {
        if range.isEmpty { return }
        suffixes.removeSubrange(range)
        heads.removeSubrange(range)
    }

    /// Removes the keys from an index on, and returns them.
    mutating func takeSuffix(from index: Int) -> SortedKeys {
        let suffix = SortedKeys(index..<count, of: self)
        self = SortedKeys(0..<index, of: self)
        return suffix
    }
}

extension SortedKeys {
    private mutating func shortenPrefix(to length: Int) {
        suffixes.prepend(Bytes(prefix[length...]))
        prefix.removeSubrange(length...)
        setHeads()
    }

    private mutating func setHeads() {
        heads.removeAll(keepingCapacity: true)
        for index in indices { heads.append(suffixes.withBytes(at: index) { Self.head(of: $0, at: 0) }) }
    }

    /// Less than, equal to or greater than zero, as a key comes before, equal or behind the one at an index.
    private func order(of key: Bytes, toKeyAt index: Int) -> Int {
        let order = orderToPrefix(of: key)
        return order != 0 ? order : orderBehindPrefix(of: key, toKeyAt: index)
    }

    /// The order of a key to the prefix; zero when it begins with it.
    private func orderToPrefix(of key: Bytes) -> Int {
        key.withUnsafeBytes { key in
            prefix.withUnsafeBytes { prefix in
                UnsafeRawBufferPointer(rebasing: key[..<min(key.count, prefix.count)]).order(to: prefix)
            }
        }
    }

    /// The order of a key that begins with the prefix to the one at an index.
    private func orderBehindPrefix(of key: Bytes, toKeyAt index: Int) -> Int {
        key.withUnsafeBytes { key in
            suffixes.withBytes(at: index) { UnsafeRawBufferPointer(rebasing: key[prefix.count...]).order(to: $0) }
        }
    }

    @inline(__always)
    private static func lowerBound(of head: UInt64, in heads: UnsafeBufferPointer<UInt64>, from start: Int) -> Int {
        var low = start
        var count = heads.count - start
        while count > 0 {
            let half = count / 2
            let isBefore = heads[low + half] < head
            low = isBefore ? low + half + 1 : low
            count = isBefore ? count - half - 1 : half
        }
        return low
    }

    private static func head(of key: Bytes, at offset: Int) -> UInt64 {
        key.withUnsafeBytes { head(of: $0, at: offset) }
    }

    @inline(__always)
    private static func head(of key: UnsafeRawBufferPointer, at offset: Int) -> UInt64 {
        if key.count >= offset + 8 {
            return UInt64(bigEndian: key.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        var head: UInt64 = 0
        for index in 0..<8 {
            head = head << 8 | (offset + index < key.count ? UInt64(key[offset + index]) : 0)
        }
        return head
    }

    /// The number of bytes with which both begin alike.
    private static func sharedCount(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Int {
        let end = min(one.count, other.count)
        var count = 0
        while count + 8 <= end {
            let difference =
                one.loadUnaligned(fromByteOffset: count, as: UInt64.self)
                ^ other.loadUnaligned(fromByteOffset: count, as: UInt64.self)
            if difference != 0 { break }
            count += 8
        }
        while count < end, one[count] == other[count] { count += 1 }
        return count
    }
}
