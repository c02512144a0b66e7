/// Keys from `lower`, included, to `upper`, excluded.
package struct KeyRange: Hashable, Sendable {
    /// The first key of the range.
    package var lower: Bytes
    /// The first key beyond the range.
    package var upper: Bytes

    /// Creates a value with the given properties.
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

    /// Whether the range contains no key.
    package var isEmpty: Bool { !lower.precedes(upper) }

    /// Returns whether the range contains `key`.
    package func contains(_ key: Bytes) -> Bool {
        !key.precedes(lower) && key.precedes(upper)
    }
}
