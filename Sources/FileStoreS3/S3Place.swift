import FileStore

/// The bucket of an object store's service, and the beginning of the keys of the objects in it.
package struct S3Place: Hashable, Sendable, CustomStringConvertible {
    /// The bucket, which exists already.
    package let bucket: String
    /// Empty, or ends with a slash.
    package let prefix: String

    private static let scheme = "s3://"
    private static let prefixBytesMax = 200

    /// Whether a text is meant as a place of this kind.
    package static func isPlace(_ text: String) -> Bool { text.hasPrefix(scheme) }

    /// Reads `s3://bucket/prefix`.
    ///
    /// - Throws: `unavailable` with what is wrong.
    package init(_ text: String) throws(FileStoreError) {
        let parts = text.dropFirst(Self.scheme.count).split(
            separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let bucket = parts.first.map(String.init) ?? ""
        guard Self.isPlace(text), Self.isBucket(bucket) else {
            throw .settings(
                "the place is not s3://bucket/prefix; a bucket has 3 to 63 lower-case letters, digits, dots and hyphens"
            )
        }
        var prefix = parts.count > 1 ? String(parts[1]) : ""
        while prefix.hasSuffix("/") { prefix.removeLast() }
        guard prefix.utf8.count <= Self.prefixBytesMax, Self.isPrefix(prefix) else {
            throw .settings(
                "the prefix has other characters than letters, digits, dots, hyphens, underscores and single slashes"
            )
        }
        self.bucket = bucket
        self.prefix = prefix.isEmpty ? "" : prefix + "/"
    }

    /// The place as it is written.
    package var description: String { Self.scheme + bucket + (prefix.isEmpty ? "" : "/" + prefix.dropLast()) }

    private static func isBucket(_ name: String) -> Bool {
        (3...63).contains(name.utf8.count)
            && name.utf8.allSatisfy { isLower($0) || isDigit($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }
    }

    private static func isPrefix(_ text: String) -> Bool {
        if text.isEmpty { return true }
        return text.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { part in
            !part.isEmpty && part != "." && part != ".."
                && part.utf8.allSatisfy {
                    isLower($0) || isLower($0 | 0x20) || isDigit($0) || "-_.".utf8.contains($0)
                }
        }
    }

    private static func isLower(_ byte: UInt8) -> Bool { (97...122).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }
}

extension FileStoreError {
    /// The error of settings that cannot be used.
    static func settings(_ detail: String) -> Self { Self(.unavailable, "use the object store", detail: detail) }
}
