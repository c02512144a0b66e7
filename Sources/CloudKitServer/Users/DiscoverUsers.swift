import CloudKitModel

/// Finds people who agreed to be found (B-ACC-05).
package struct DiscoverUsers: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Returns those who agreed to be found and have used the container, with their names, each with the look-up that found them.
    ///
    /// A person who did not agree, was never here, or has no account is left out: the answer does not show which.
    ///
    /// - Throws: `authenticationRequired`, `itemLimitExceeded`, `badRequest` outside of the public database, `throttled`.
    package func run(
        _ lookups: [LookupInfo], in address: DatabaseAddress, by caller: Caller
    ) async throws -> [PersonIdentity] {
        try cloud.peopleLookups.admit(lookups.count, by: caller, in: address)
        var people: [PersonIdentity] = []
        for lookup in lookups {
            if let person = try await cloud.userDirectory.discoverable(lookup, in: address.container) {
                people.append(person)
            }
        }
        return people
    }
}
