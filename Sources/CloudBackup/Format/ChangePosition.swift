/// The place of a moment among the changes that a cloud sends all the time.
package struct ChangePosition: Hashable, Sendable, Codable {
    /// The series of segments.
    package var series: String
    /// The number of the last segment that holds nothing later than the moment's state.
    package var after: Int
    /// The number of the segment up to which all have to be applied, if any is: the moment's state may be later than the first of them.
    package var through: Int
    /// The digest of segment `after`, which the next one names; that of nothing for the first.
    package var digest: String

    /// Creates a value with the given properties.
    package init(series: String, after: Int, through: Int, digest: String) {
        self.series = series
        self.after = after
        self.through = through
        self.digest = digest
    }
}
