import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer

/// Executes the order of an operator for a container in development.
package struct RunFaultOrder: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Executes the order of an operator.
    ///
    /// - Throws: `RequestFailure` `accessDenied` in production, and for accounts of containers that are in production when
    ///   the order would reach beyond this one; `itemNotFound`, `zoneNotFound`, `badRequest`.
    package func run(
        _ order: FaultOrder, in container: ContainerID, _ environment: Environment
    ) async throws -> FaultOutcome {
        guard environment == .development else { throw Self.developmentOnly }
        var receipt = FaultOutcome()
        switch order {
        case .fault(let kind, let person, let seconds, let bytes, let sendsRetryAfter):
            if let person { receipt.user = try await target(person, in: container).user }
            receipt.fault = try await cloud.faults.order(
                kind, in: container, for: receipt.user, seconds: seconds, bytes: bytes, sendsRetryAfter: sendsRetryAfter
            )
        case .removeFault(let id):
            let isThere = try await cloud.faults.list().contains { $0.id == id && $0.container == container.name }
            guard isThere, try await cloud.faults.remove(id) else { throw Self.noSuchFault }
            receipt.removed = 1
        case .removeAllFaults:
            receipt.removed = try await cloud.faults.removeAll(in: container)
        case .expireTokens(let person, let zone):
            let user = try await target(person, in: container).user
            receipt.user = user
            if let zone {
                try await ExpireTokens(cloud).run(ofZone: zone, of: user, in: container, environment)
            } else {
                try await ExpireTokens(cloud).run(ofDatabaseOf: user, in: container, environment)
            }
        case .compactZone(let zone, let person):
            let user = try await target(person, in: container).user
            receipt.user = user
            receipt.forgotten = try await CompactFeeds(cloud).forgetDeletions(
                before: .max, inZone: zone, of: user, in: container, environment)
        case .purgeZone(let zone, let person):
            let user = try await target(person, in: container).user
            receipt.user = user
            try await EndZone(cloud).purge(zone, of: user, in: container, environment)
        case .resetKeys(let zone, let person):
            let user = try await target(person, in: container).user
            receipt.user = user
            if let zone {
                try await EndZone(cloud).resetKeys(ofZone: zone, of: user, in: container, environment)
                receipt.zones = 1
            } else {
                receipt.zones = try await ResetZoneKeys(cloud).run(ofZonesOf: user, in: container, environment)
            }
        case .resetKeychain(let person):
            let (user, account) = try await target(person, in: container)
            try await checkIsOnlyInDevelopment(account)
            try await cloud.accountStore.keychains(ProofLimiter())
                .reset(email: account.email)
            try await FinishKeyResets(cloud).run()
            (receipt.user, receipt.account) = (user, account.id)
        case .signOut(let device, let person):
            let (user, account) = try await target(person, in: container)
            try await checkIsOnlyInDevelopment(account)
            let ended = try await cloud.accountStore.sessions.revoke(device, ofAccount: account.id)
            guard ended.count < 2 else { throw Self.severalDevices }
            guard let session = ended.first else { throw Self.noSuchDevice }
            (receipt.user, receipt.account, receipt.device) = (user, account.id, session)
        }
        return receipt
    }

    func target(
        _ person: FaultOrder.Person, in container: ContainerID
    ) async throws -> (user: UserID, account: Account) {
        let accountStore = cloud.accountStore
        switch person {
        case .email(let email):
            guard let account = try await accountStore.accounts.account(email: email) else { throw Self.noSuchAccount }
            return (try await accountStore.userNames.name(of: account.id, in: container), account)
        case .user(let user):
            guard let id = try await accountStore.userNames.owner(of: user, in: container),
                let account = try await accountStore.accounts.account(id: id)
            else { throw Self.noSuchUser }
            return (user, account)
        }
    }

    /// Keychains and sessions are the account's, in every container and environment: an operator of development only
    /// must not reach users' real data through them.
    private func checkIsOnlyInDevelopment(_ account: Account) async throws {
        let accountStore = cloud.accountStore
        let containers = try await accountStore.userNames.all(of: account.id)
            .map(\.container.name)
        let tokens = try await accountStore.apiTokens.list()
        let isInProduction = tokens.contains {
            $0.environment == Environment.production.rawValue && containers.contains($0.container)
        }
        guard !isInProduction else { throw Self.alsoInProduction }
    }

    private static let developmentOnly = RequestFailure(
        .accessDenied, "faults are ordered in the development environment only")
    private static let alsoInProduction = RequestFailure(
        .accessDenied, "the account is used by a container that is in production, too",
        remedy: "Use welkin keys reset or welkin account revoke on the cloud's machine.")
    private static let noSuchFault = RequestFailure(
        .itemNotFound, "there is no such fault", remedy: "List them first.")
    private static let noSuchAccount = RequestFailure(.itemNotFound, "there is no account of this address")
    private static let noSuchUser = RequestFailure(.itemNotFound, "the container knows no user of this name")
    private static let noSuchDevice = RequestFailure(.itemNotFound, "the account has no device that begins so")
    private static let severalDevices = RequestFailure(
        .badRequest, "more than one device begins so", remedy: "Give more digits.")
}
