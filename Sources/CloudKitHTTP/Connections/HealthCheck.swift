import CloudKitAccounts

/// Whether the cloud can answer: it lives, and its store can be read.
struct HealthCheck {
    var accounts: AccountStore

    func answer() async -> Answer {
        do {
            try await accounts.checkIsReadable()
            return Answer(body: Array(#"{"status":"ok","store":"readable"}"#.utf8))
        } catch {
            return Answer(status: .serviceUnavailable, body: Array(#"{"status":"failing","store":"unreadable"}"#.utf8))
        }
    }
}
