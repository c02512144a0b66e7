/// The outcome of an import.
package struct ImportReport: Hashable, Sendable {
    /// A record that was not imported.
    package struct Failure: Hashable, Sendable {
        /// The container and environment.
        package var container: String
        /// The name of the zone; nil: the public database.
        package var zone: String?
        /// The name of the record.
        package var recordName: String
        /// The reason.
        package var reason: String
    }

    /// Records that were not there.
    package var created = 0
    /// Records that were there in an older version.
    package var updated = 0
    /// Records that were there as new as in the export, or newer, and stay as they are.
    package var left = 0
    /// Records that are incomplete in the export.
    package var incomplete = 0
    /// Records that the cloud refused, or that could not be sent.
    package var failed = 0
    /// The first of those.
    package var failures: [Failure] = []
    /// Containers of the export that the cloud does not have.
    package var missingContainers: [String] = []
    /// The shares of the export, which have to be made and joined again.
    package var shares: [ExportedShare] = []
    /// The shares of others that the person had joined.
    package var joinedShares: [ExportedShare] = []

    /// The most failures of which the report has the reason.
    static let failuresMax = 100

    /// Creates the report of an import that did nothing.
    package init() {}

    mutating func note(_ failure: Failure) {
        failed += 1
        if failures.count < Self.failuresMax { failures.append(failure) }
    }
}
