import CloudKitModel
import CloudKitRecordLayer

/// The sender of a request that is about an account and not about a container's data.
package enum AccountSender: Hashable, Sendable {
    /// A device that shows its secret.
    case device(DeviceKey)
    /// A browser on a page of the cloud, by the session of the web token that the request showed.
    case browser(session: String)
}

extension StorageView {
    /// Returns the sender's session and account.
    ///
    /// - Throws: `RequestFailure` `authenticationFailed`, `accountRestricted`.
    func owner(of sender: AccountSender, now: Int64) async throws -> (session: DeviceSession, account: Account) {
        switch sender {
        case .device(let device): return try await owner(of: device, now: now)
        case .browser(let id):
            guard let session = try await session(id), now < session.expires,
                let account = try await Account.table.row(session.account, in: self)
            else { throw RequestFailure.sessionEnded }
            guard !account.isDisabled else { throw RequestFailure.accountDisabled }
            return (session, account)
        }
    }
}
