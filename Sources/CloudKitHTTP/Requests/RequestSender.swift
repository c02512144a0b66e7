import CloudKitAccounts
import CloudKitModel
import CloudKitServer

/// The sender of a request, as far as its admission has established it.
///
/// Indirect: a request that waits for notifications has no sender and must not keep memory for one.
indirect enum RequestSender: Sendable {
    /// The endpoint asks for none, or its admission is still to come.
    case unknown
    /// A user of an app, an app without a user, or a server key.
    case admitted(AuthenticatedCaller)
    /// An app on behalf of a device, with the user whose web token came along.
    case app(APIToken, user: AuthenticatedCaller?)
    case `operator`(OperatorToken)
}
