import CloudKitDevice
import CloudKitModel
import CloudKitWire

/// Calls about users.
extension DatabaseRequests {
    /// Returns a token with which web services act for the user together with another API token (B-ACC-09).
    package func webAuthToken(beside apiToken: String) async throws -> String {
        let account = connection.cloud.account
        try account.state.check(account)
        do {
            guard let token = try await account.webAuthToken(beside: apiToken) else { throw CallFailure.notSignedIn }
            return token
        } catch SignInError.refused(let refusal) where refusal.isAboutAPIToken {
            throw CallFailure.invalidArguments("The container has no such API token")
        } catch SignInError.refused(let refusal) where refusal.trouble == .sessionEnded {
            try? await account.verify()
            try account.state.check(account)
            throw CallFailure(signIn: .refused(refusal))
        } catch {
            throw CallFailure(account: error)
        }
    }
}
