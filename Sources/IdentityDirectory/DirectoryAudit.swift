/// An auditor's memory of a directory: its keys, the newest head, and the complete subtrees of the log of heads, at most 64.
package struct DirectoryAudit: Hashable, Sendable {
    /// The directory's keys.
    package let keys: DirectoryKeys
    /// The newest head that was verified; nil: none yet.
    package private(set) var head: DirectoryHead?
    /// The hashes of the complete subtrees of the log, from the left, the newest head included.
    package private(set) var frontier: [DirectoryHash]

    /// Begins before the first head.
    package init(keys: DirectoryKeys) {
        self.keys = keys
        frontier = []
    }

    /// The number of the head that follows.
    package var next: UInt64 { head.map { $0.number + 1 } ?? 0 }

    /// Verifies the next head and the changes that it consists of.
    package mutating func follow(_ next: DirectoryHead, updates: [DirectoryUpdate]) throws(DirectoryError) {
        try next.verify(keys)
        guard next.number == self.next, next.previous == head?.hash ?? .zero, next.log == HeadLog.fold(frontier) else {
            throw .forked(one: head?.number ?? 0, other: next.number)
        }
        var root = head?.root ?? PrefixTree.emptyRoot
        var count = head?.count ?? 0
        for update in updates {
            let change = try update.apply(to: root, head: next.number)
            root = change.root
            if change.isNew { count += 1 }
        }
        guard root == next.root, count == next.count else { throw .wrongRoot }
        head = next
        append(next)
    }

    private mutating func append(_ head: DirectoryHead) {
        var hash = HeadLog.leaf(head.hash)
        var index = head.number
        while index & 1 == 1, let left = frontier.popLast() {
            hash = HeadLog.node(left, hash)
            index >>= 1
        }
        frontier.append(hash)
    }

    // MARK: Bytes

    /// The encoded form: the keys, then the head and the hashes, if there is a head.
    package var bytes: [UInt8] {
        keys.bytes + (head.map { $0.bytes + frontier.flatMap(\.bytes) } ?? [])
    }

    /// Reads the encoded form.
    package init(bytes: [UInt8]) throws(DirectoryError) {
        guard bytes.count >= 64 else { throw .malformed("audit state") }
        keys = try DirectoryKeys(bytes: Array(bytes.prefix(64)))
        let rest = Array(bytes.dropFirst(64))
        frontier = []
        guard !rest.isEmpty else { return }
        guard rest.count > DirectoryHead.byteCount else { throw .malformed("audit state") }
        let head = try DirectoryHead(bytes: Array(rest.prefix(DirectoryHead.byteCount)))
        var reader = DirectoryReader(Array(rest.dropFirst(DirectoryHead.byteCount)), of: "audit state")
        for _ in 0..<(head.number &+ 1).nonzeroBitCount { frontier.append(try reader.takeHash()) }
        try reader.finish()
        try head.verify(keys)
        self.head = head
    }
}
