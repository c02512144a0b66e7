import Foundation

/// The answer to an auditor: heads from a number on, with the changes that each consists of.
package struct DirectoryHistoryAnswer: Codable, Hashable, Sendable {
    /// A head and its changes, in their forms as bytes.
    package struct Head: Codable, Hashable, Sendable {
        /// The head.
        package var head: Data
        /// The changes, in the order in which they were made.
        package var updates: [Data]

        /// Creates the pair.
        package init(head: DirectoryHead, updates: [DirectoryUpdate]) {
            self.head = Data(head.bytes)
            self.updates = updates.map { Data($0.bytes) }
        }
    }

    /// The directory's public keys.
    package var keys: Data
    /// The newest head of all.
    package var newest: Data
    /// As many heads as fit.
    package var heads: [Head]

    /// Creates an answer.
    package init(keys: DirectoryKeys, newest: DirectoryHead, heads: [Head]) {
        self.keys = Data(keys.bytes)
        self.newest = Data(newest.bytes)
        self.heads = heads
    }
}

extension DirectoryAudit {
    /// Follows a directory from its first head, or from where an earlier audit ended, to its newest one.
    ///
    /// - Parameters:
    ///   - earlier: The state in which an earlier audit ended.
    ///   - fetch: Asks the cloud for heads from a number on.
    /// - Throws: `DirectoryError` for a directory that is not what it was; what `fetch` throws.
    package static func following(
        from earlier: DirectoryAudit?, fetch: @Sendable (UInt64) async throws -> DirectoryHistoryAnswer
    ) async throws -> DirectoryAudit {
        var audit = earlier
        while true {
            let answer = try await fetch(audit?.next ?? 0)
            let keys = try DirectoryKeys(bytes: Array(answer.keys))
            var current = audit ?? DirectoryAudit(keys: keys)
            guard current.keys == keys else { throw DirectoryError.keysReplaced }
            let isComplete = try current.follow(answer)
            if isComplete { return current }
            audit = current
        }
    }

    /// - Returns: Whether the newest head was reached.
    private mutating func follow(_ answer: DirectoryHistoryAnswer) throws(DirectoryError) -> Bool {
        let newest = try DirectoryHead(bytes: Array(answer.newest))
        try newest.verify(keys)
        let start = next
        for next in answer.heads {
            var updates: [DirectoryUpdate] = []
            for update in next.updates { updates.append(try DirectoryUpdate(bytes: Array(update))) }
            try follow(try DirectoryHead(bytes: Array(next.head)), updates: updates)
        }
        guard let head else { throw .malformed("history") }
        guard newest.number >= head.number else { throw .wentBack(newest: newest.number, seen: head.number) }
        if newest.number == head.number {
            guard newest.hash == head.hash else { throw .forked(one: head.number, other: newest.number) }
            return true
        }
        // A cloud that shows nothing further does not show its history.
        guard next > start else { throw .malformed("history") }
        return false
    }
}
