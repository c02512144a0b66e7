import CloudKitModel
import CloudKitRecordLayer

/// A person's permission for operators to see the person's private data in one container and environment, for some time.
///
/// The person makes its token on a device of theirs and gives it to an operator.
package struct ConsoleConsent: StoredRow, Hashable {
    /// SHA-256 of the token, in hexadecimal.
    package var hash: String
    /// The person's account.
    package var account: String
    /// The name of the container.
    package var container: String
    /// `development` or `production`.
    package var environment: String
    /// Whether operators may change records as well.
    package var allowsChanges: Bool
    /// Milliseconds since 1970.
    package var created: Int64
    /// Milliseconds since 1970.
    package var expires: Int64

    /// Its name in lists and the log: the first digits of the hash.
    package var id: String { String(hash.prefix(12)) }

    /// hash → `ConsoleConsent`
    package static let table = RowTable<String, ConsoleConsent>("console-consent")
    /// The longest time, in milliseconds.
    package static let lifetimeMax: Int64 = 7 * 86_400_000
    /// Consents of one person at a time.
    static let perAccountMax = 20
}

/// The permissions of people for operators to see their private data.
package struct ConsoleConsents: Sendable {
    let store: AccountStore

    /// Makes a permission.
    ///
    /// - Parameter lifetime: Milliseconds, at most seven days.
    /// - Returns: The token, which cannot be read again, and its stored row.
    /// - Throws: `badRequest` for a time that is out of bounds, and for a person with 20 permissions.
    package func create(
        account: String, container: ContainerID, environment: Environment, lifetime: Int64, allowsChanges: Bool
    ) async throws -> (token: String, row: ConsoleConsent) {
        guard (60_000...ConsoleConsent.lifetimeMax).contains(lifetime) else {
            throw RequestFailure(.badRequest, "the time is out of bounds", remedy: "Use one minute to seven days.")
        }
        let token = store.serverEnvironment.randomHex(bytes: 32)
        let now = store.serverEnvironment.now()
        let row = ConsoleConsent(
            hash: APIToken.hash(of: token), account: account, container: container.name,
            environment: environment.rawValue, allowsChanges: allowsChanges, created: now, expires: now + lifetime)
        try await store.write { transaction in
            var own = 0
            for held in try await ConsoleConsent.table.rows(in: transaction) {
                if held.expires <= now {
                    ConsoleConsent.table.clear(held.hash, in: &transaction)
                } else if held.account == account {
                    own += 1
                }
            }
            guard own < ConsoleConsent.perAccountMax else {
                throw RequestFailure(
                    .badRequest, "there are \(ConsoleConsent.perAccountMax) consents", remedy: "Revoke one first.")
            }
            try ConsoleConsent.table.set(row.hash, to: row, in: &transaction)
        }
        return (token, row)
    }

    /// Returns the permissions of a person that are not over, oldest first.
    package func list(account: String) async throws -> [ConsoleConsent] {
        let now = store.serverEnvironment.now()
        return try await ConsoleConsent.table.rows(in: store)
            .filter { $0.account == account && $0.expires > now }
            .sorted { ($0.created, $0.id) < ($1.created, $1.id) }
    }

    /// Takes permissions of a person back.
    ///
    /// - Parameter id: The first digits of the id, at least one; nil for all.
    /// - Returns: Those that were taken back.
    package func revoke(_ id: String?, account: String) async throws -> [ConsoleConsent] {
        if let id, id.isEmpty { return [] }
        let meant = try await list(account: account).filter { consent in id.map { consent.hash.hasPrefix($0) } ?? true }
        guard id == nil || meant.count == 1 else { return [] }
        try await store.write { transaction in
            for consent in meant { ConsoleConsent.table.clear(consent.hash, in: &transaction) }
        }
        return meant
    }

    /// Notes that an operator showed a token in a session.
    ///
    /// - Throws: `accessDenied` for a token that is unknown, over, or of another place.
    package func show(
        _ token: String, in session: ConsoleSession, container: ContainerID, environment: Environment
    ) async throws -> ConsoleConsent {
        let hash = APIToken.hash(of: token)
        let now = store.serverEnvironment.now()
        return try await store.write { transaction in
            guard let consent = try await ConsoleConsent.table.row(hash, in: transaction), consent.expires > now,
                consent.container == container.name, consent.environment == environment.rawValue
            else {
                throw RequestFailure(
                    .accessDenied, "no consent of this container and environment, or one that is over",
                    remedy: "Ask the person for another: welkin consent create")
            }
            guard var held = try await ConsoleSession.table.row(session.hash, in: transaction) else { return consent }
            var shown = (held.consents ?? []).filter { $0 != hash }
            shown.append(hash)
            held.consents = Array(shown.suffix(ConsoleConsent.perAccountMax))
            try ConsoleSession.table.set(held.hash, to: held, in: &transaction)
            return consent
        }
    }

    /// Returns the permission that was shown in a session for the data of an account; nil for none that is valid now.
    package func current(
        in session: ConsoleSession, account: String, container: ContainerID, environment: Environment
    ) async throws -> ConsoleConsent? {
        guard let shown = session.consents, !shown.isEmpty else { return nil }
        let now = store.serverEnvironment.now()
        return try await store.read { view in
            for hash in shown.reversed() {
                guard let consent = try await ConsoleConsent.table.row(hash, in: view), consent.expires > now,
                    consent.account == account, consent.container == container.name,
                    consent.environment == environment.rawValue
                else { continue }
                return consent
            }
            return nil
        }
    }
}

extension AccountStore {
    /// The permissions of people for operators to see their private data.
    package var consoleConsents: ConsoleConsents { ConsoleConsents(store: self) }
}
