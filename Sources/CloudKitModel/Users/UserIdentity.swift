/// The visible properties of a user (docs/web-services.md §3.5).
package struct UserIdentity: Hashable, Sendable {
    /// The user.
    package var user: UserID
    /// Absent unless the user agreed to be discoverable.
    package var givenName: String?
    /// The family name; nil if unknown.
    package var familyName: String?

    /// Creates a value with the given properties.
    package init(user: UserID, givenName: String? = nil, familyName: String? = nil) {
        self.user = user
        self.givenName = givenName
        self.familyName = familyName
    }
}
