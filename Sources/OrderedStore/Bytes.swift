#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Keys and values are plain bytes; keys compare as unsigned bytes, shorter before longer.
package typealias Bytes = [UInt8]

extension [UInt8] {
    /// Whether these bytes come before `other` in the order of keys.
    package func precedes(_ other: [UInt8]) -> Bool { order(to: other) < 0 }

    /// Less than, equal to or greater than zero, as these bytes come before, equal or come after `other`.
    @inline(__always)
    package func order(to other: [UInt8]) -> Int {
        withUnsafeBytes { mine in other.withUnsafeBytes { mine.order(to: $0) } }
    }
}

extension UnsafeRawBufferPointer {
    /// Less than, equal to or greater than zero, as these bytes come before, equal or come after `other`.
    @inline(__always)
    func order(to other: UnsafeRawBufferPointer) -> Int {
        let shared = Swift.min(count, other.count)
        // An empty buffer may have no address; memcmp wants one.
        if shared > 0, let left = baseAddress, let right = other.baseAddress {
            let order = memcmp(left, right, shared)
            if order != 0 { return Int(order) }
        }
        return count - other.count
    }
}
