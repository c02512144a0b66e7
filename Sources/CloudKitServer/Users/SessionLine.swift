/// A device or browser of an account, as operators are shown it in JSON.
package struct SessionLine: Encodable, Sendable {
    package var deviceID: String
    package var name: String
    /// Milliseconds since 1970, as `expires`.
    package var created: Int64
    package var expires: Int64
    package var isBrowser: Bool
    package var isOutdated: Bool

    package init(_ session: DeviceSession, of account: Account) {
        deviceID = session.id
        name = session.name
        created = session.created
        expires = session.expires
        isBrowser = session.isBrowser
        isOutdated = session.isOutdated(for: account)
    }
}
