/// Keys from `lower`, included, to `upper`, excluded.
package struct KeyRange: Hashable, Sendable {
    package var lower: Bytes
    package var upper: Bytes

    package init(lower: Bytes, upper: Bytes) {
        self.lower = lower
        self.upper = upper
    }

    /// Every key that begins with `prefix`, the prefix itself included.
    ///
    /// - Precondition: `prefix` holds a byte other than 0xFF: the tuple layer never makes another.
    package init(prefix: Bytes) {
        var upper = prefix
        while upper.last == 0xFF { upper.removeLast() }
        precondition(!upper.isEmpty, "a prefix of 0xFF bytes has no end")
        upper[upper.count - 1] += 1
        self.init(lower: prefix, upper: upper)
    }

    /// Whether no key lies in the range.
    package var isEmpty: Bool { !lower.precedes(upper) }

    package func contains(_ key: Bytes) -> Bool {
        !key.precedes(lower) && key.precedes(upper)
    }
}
