/// A device or browser of an account, in the JSON that operators see.
package struct SessionLine: Encodable, Sendable {
    /// The session's id.
    package var deviceID: String
    /// The name that its owner gave it.
    package var name: String
    /// Milliseconds since 1970.
    package var created: Int64
    /// Milliseconds since 1970.
    package var expires: Int64
    /// Whether it is a browser's session.
    package var isBrowser: Bool
    /// Whether the account's keys were reset since it was opened.
    package var isOutdated: Bool

    /// Creates the line for a session of an account.
    package init(_ session: DeviceSession, of account: Account) {
        deviceID = session.id
        name = session.name
        created = session.created
        expires = session.expires
        isBrowser = session.isBrowser
        isOutdated = session.isOutdated(for: account)
    }
}
