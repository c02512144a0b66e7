/// An entry as it is in the store, readable or not.
package struct RawEntry: Hashable, Sendable {
    /// The key; if the row is damaged, perhaps not the one under which it was written.
    package let key: Bytes
    /// The value; nil if key or value are damaged.
    package let value: Bytes?

    /// Creates a row.
    package init(key: Bytes, value: Bytes?) {
        self.key = key
        self.value = value
    }
}
