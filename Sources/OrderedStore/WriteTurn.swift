/// What the current task says about its next write.
package enum WriteTurn {
    /// The user for whom the current task writes; nil: writes count as those of their home partition.
    ///
    /// An engine with one writer gives users their turns one after the other, so that many writes of one user delay a write of another
    /// by one of them at most.
    @TaskLocal package static var user: String?

    /// What the body is about to read in the home partition; empty: it is not known.
    ///
    /// An engine for which each read takes a round trip reads what all waiting writers expect together. A key or range that the body does not read
    /// costs its look-up, and nothing else.
    @TaskLocal package static var expectedReads = ExpectedReads()
}

/// Keys and ranges of a partition that a transaction is about to read.
package struct ExpectedReads: Hashable, Sendable {
    /// The keys.
    package var keys: [Bytes]
    /// The ranges, each of which holds few entries.
    package var ranges: [KeyRange]

    /// Creates a value with the given properties.
    package init(keys: [Bytes] = [], ranges: [KeyRange] = []) {
        self.keys = keys
        self.ranges = ranges
    }

    /// Whether nothing is known.
    package var isEmpty: Bool { keys.isEmpty && ranges.isEmpty }
}
