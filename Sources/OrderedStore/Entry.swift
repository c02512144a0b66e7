/// One key with its value.
package struct Entry: Hashable, Sendable {
    /// The key.
    package var key: Bytes
    /// The value.
    package var value: Bytes

    /// Creates a value with the given properties.
    package init(key: Bytes, value: Bytes) {
        self.key = key
        self.value = value
    }
}
