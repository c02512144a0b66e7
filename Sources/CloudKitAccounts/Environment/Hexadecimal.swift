import TextEncodings

extension Sequence<UInt8> {
    /// Two lower-case hexadecimal digits a byte.
    package var hex: String { String(hexadecimal: Array(self)) }
}
