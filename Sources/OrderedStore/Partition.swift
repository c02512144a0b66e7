/// The unit of distribution and of locking: one user's private data in one container and environment, one slice of a
/// public database, or one of the cloud's own books (accounts, schemas).
///
/// Writers of one partition follow one another, so the order of commits is the order of versions (B-BKD-11).
package struct Partition: Hashable, Sendable, CustomStringConvertible {
    /// At most 512 bytes of UTF-8.
    package let name: String

    /// Creates the partition of this name.
    package init(_ name: String) { self.name = name }

    /// A textual form of the value, for logs and debugging.
    package var description: String { name }
}

extension Partition {
    /// The beginning of the names of partitions with values of hundreds of kilobytes: the bytes of files.
    package static let largeValuesPrefix = "files/"

    /// Whether values may be so large that those who read a whole partition read few at once.
    package var hasLargeValues: Bool { name.hasPrefix(Self.largeValuesPrefix) }
}

extension Partition {
    // By bytes, as every engine on disk compares names; String's own equality would make one of two spellings.
    /// Returns a Boolean value that indicates whether two values are equal.
    package static func == (left: Self, right: Self) -> Bool {
        guard left.name.utf8.count == right.name.utf8.count else { return false }
        let isEqual = left.name.utf8.withContiguousStorageIfAvailable { left in
            right.name.utf8.withContiguousStorageIfAvailable { right in
                UnsafeRawBufferPointer(left).order(to: UnsafeRawBufferPointer(right)) == 0
            }
        }
        return (isEqual ?? nil) ?? left.name.utf8.elementsEqual(right.name.utf8)
    }

    /// Hashes the contents into the given hasher.
    package func hash(into hasher: inout Hasher) {
        var name = name
        name.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
