extension Int64 {
    /// The integer that `value` is; nil if it has a fraction, is not finite or does not fit.
    ///
    /// `Int64(exactly:)` does the same by calling the C library's `trunc`, which a program that imports nothing else of the
    /// platform is not linked with.
    package init?(whole value: Double) {
        guard value >= -0x1p63, value < 0x1p63 else { return nil }
        let integer = Int64(value)
        guard Double(integer) == value else { return nil }
        self = integer
    }
}
