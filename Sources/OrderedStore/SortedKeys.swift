/// A short sorted list of keys, without doubles.
///
/// Beside each key lies a number of the eight bytes in which it differs from its neighbours first. A search reads these numbers, which lie
/// one after the other, and few keys, each of which lies elsewhere in memory.
struct SortedKeys: Sendable {
    private(set) var keys: [Bytes] = []
    /// The eight bytes of each key behind `sharedCount`, as a number; missing bytes are zeros.
    private var heads: [UInt64] = []
    /// The number of bytes with which all keys begin alike; fewer than there are at times.
    private var sharedCount = 0

    init() {}

    /// Creates a list of keys that are in order.
    private init(ordered keys: [Bytes]) {
        self.keys = keys
        if let first = keys.first, let last = keys.last { setSharedCount(Self.sharedCount(first, last)) }
    }

    var count: Int { keys.count }
    var isEmpty: Bool { keys.isEmpty }
    var indices: Range<Int> { keys.indices }

    subscript(index: Int) -> Bytes { keys[index] }

    /// The index of the first key that is not before `key`, or the number of keys.
    func firstIndex(notBefore key: Bytes) -> Int {
        guard let first = keys.first else { return 0 }
        if sharedCount > 0 {
            let order = Self.order(key, toPrefix: sharedCount, of: first)
            if order != 0 { return order < 0 ? 0 : keys.count }
        }
        let head = Self.head(of: key, at: sharedCount)
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
            if keys[middle].precedes(key) { index = middle + 1 } else { end = middle }
        }
        return index
    }

    /// The number of keys that are not behind `key`.
    func count(notBehind key: Bytes) -> Int {
        let index = firstIndex(notBefore: key)
        return index < keys.count && keys[index] == key ? index + 1 : index
    }

    /// Inserts a key at the index at which it belongs.
    mutating func insert(_ key: Bytes, at index: Int) {
        let shared = keys.first.map { min(sharedCount, Self.sharedCount($0, key)) } ?? key.count
        keys.insert(key, at: index)
        if shared < sharedCount || heads.isEmpty {
            setSharedCount(shared)
        } else {
            heads.insert(Self.head(of: key, at: shared), at: index)
        }
    }

    /// Puts another key in the place of the first one.
    mutating func replaceFirst(by key: Bytes) {
        if keys.first == key { return }
        remove(at: 0)
        insert(key, at: 0)
    }

    mutating func remove(at index: Int) {
        keys.remove(at: index)
        heads.remove(at: index)
    }

    mutating func removeSubrange(_ range: Range<Int>) {
        keys.removeSubrange(range)
        heads.removeSubrange(range)
    }

    /// Removes the keys from an index on, and returns them.
    mutating func takeSuffix(from index: Int) -> SortedKeys {
        let suffix = SortedKeys(ordered: Array(keys[index...]))
        self = SortedKeys(ordered: Array(keys[..<index]))
        return suffix
    }

    private mutating func setSharedCount(_ count: Int) {
        sharedCount = count
        heads = keys.map { Self.head(of: $0, at: count) }
    }
}

extension SortedKeys {
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

    /// The order of a key to the first bytes of another one; zero when it begins with them.
    private static func order(_ key: Bytes, toPrefix count: Int, of other: Bytes) -> Int {
        key.withUnsafeBytes { key in
            other.withUnsafeBytes { other in
                let prefix = UnsafeRawBufferPointer(rebasing: other[..<count])
                let start = UnsafeRawBufferPointer(rebasing: key[..<min(key.count, count)])
                return start.order(to: prefix)
            }
        }
    }

    private static func head(of key: Bytes, at offset: Int) -> UInt64 {
        key.withUnsafeBytes { key in
            if key.count >= offset + 8 {
                return UInt64(bigEndian: key.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            }
            var head: UInt64 = 0
            for index in 0..<8 {
                head = head << 8 | (offset + index < key.count ? UInt64(key[offset + index]) : 0)
            }
            return head
        }
    }

    private static func sharedCount(_ one: Bytes, _ other: Bytes) -> Int {
        one.withUnsafeBytes { one in
            other.withUnsafeBytes { other in
                let end = min(one.count, other.count)
                var count = 0
                while count < end, one[count] == other[count] { count += 1 }
                return count
            }
        }
    }
}
