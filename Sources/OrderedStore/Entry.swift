/// One key with its value.
package struct Entry: Hashable, Sendable {
    package var key: Bytes
    package var value: Bytes

    package init(key: Bytes, value: Bytes) {
        self.key = key
        self.value = value
    }
}
