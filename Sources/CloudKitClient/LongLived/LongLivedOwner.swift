/// The user whose long-lived operations a device may run.
package struct LongLivedOwner: Hashable, Sendable {
    /// The user as new operations name it: by the record name in the container, since the address of a removed account may be that of another one.
    package let account: String
    /// The user as earlier versions, and devices that did not know the record name yet, named it.
    private let email: String

    /// Creates a user.
    ///
    /// - Parameter userRecordName: nil: the device does not know it yet.
    package init(email: String, userRecordName: String?) {
        self.email = email
        account = userRecordName ?? email
    }

    /// Returns a Boolean value that indicates whether an operation is the user's.
    func owns(_ operation: LongLivedOperation<some Codable & Sendable>) -> Bool {
        operation.account == account || operation.account == email
    }
}
