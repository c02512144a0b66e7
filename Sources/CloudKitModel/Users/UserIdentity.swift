/// What one may know of a user (docs/web-services.md §3.5).
package struct UserIdentity: Hashable, Sendable {
    package var user: UserID
    /// Absent unless the user agreed to be discoverable.
    package var givenName: String?
    package var familyName: String?

    package init(user: UserID, givenName: String? = nil, familyName: String? = nil) {
        self.user = user
        self.givenName = givenName
        self.familyName = familyName
    }
}
