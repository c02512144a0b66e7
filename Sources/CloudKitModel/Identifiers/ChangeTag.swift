/// The version of a record's content: opaque, compared for equality only (B-REC-06).
package struct ChangeTag: Hashable, Sendable {
    /// The text of the tag.
    package let value: String

    /// Creates a tag of a text.
    package init(_ value: String) { self.value = value }
}
