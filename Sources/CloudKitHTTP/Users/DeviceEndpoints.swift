import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import Foundation

/// The endpoints below `/device/1/{container}/{environment}/`. The app's API token is in the query.
///
/// Those for devices, in addition to sessions, accounts and keychains; `devices/list` and `devices/revoke` also for a browser that is
/// signed in on a page of the cloud, which sends its web token in place of `deviceID` and `deviceSecret`:
/// - `devices/list {deviceID, deviceSecret}` → `{devices: [{deviceID, name, created, expires, isBrowser, isCaller,
///   isOutdated}]}`, times as milliseconds since 1970.
/// - `devices/revoke {deviceID, deviceSecret, revoke}` → `{}`: ends another session of the account, by its id or the
///   first digits of it.
/// - `devices/rename {deviceID, deviceSecret, rename, name}` → `{}`: names a session of the account, by its id or the first
///   digits of it; 1 to 100 characters.
/// - `accounts/discovery {deviceID, deviceSecret, isDiscoverable?}` → `{isDiscoverable}`: whether others may find the person;
///   sets it where the request has it, and null stands for a person who has not decided.
/// - `accounts/consents {deviceID, deviceSecret, create?, seconds?, allowsChanges?, revoke?}` → `{token?, consents: [{id, created,
///   expires, allowsChanges}]}`: which operators see the person's data of this container and environment (docs/console.md).
/// - `accounts/webKeys {deviceID, deviceSecret, allowsWebKeys?}` → `{allowsWebKeys}`: whether browsers may fetch the account's wrapped keys;
///   sets it where the request has it, and signs out the browsers that have fetched them when it is forbidden.
/// - `identities/lookup {userRecordNames}` → `{identities: [{userRecordName, identity, generation}]}`, for a user with a web
///   token; at most 100, unknown ones left out.
final class DeviceEndpoints: Sendable {
    let sessions: SessionEndpoints
    let accounts: AccountEndpoints
    let data: AccountDataEndpoint
    let keychains: KeychainEndpoints
    let address: AddressEndpoint
    let passkeys: PasskeyEndpoints
    let providers: ProviderEndpoints
    let approvals: ApprovalEndpoints
    let store: AccountStore
    private let changes: AccountChanges

    /// - Parameters:
    ///   - rounds: The fewest rounds of a new password.
    ///   - deletionGrace: The time between a person's wish and the deletion of their account.
    ///   - proofLimiter: The one count of wrong proofs.
    ///   - mail: Mails links; nil: the cloud sends no mail.
    ///   - provider: Signs people in whom a provider vouches for; nil: the cloud has none.
    init(
        cloud: Cloud, authenticator: Authenticator, isSignUpOpen: Bool, rounds: Int, deletionGrace: Duration,
        proofLimiter: ProofLimiter, mail: AddressMail?, provider: ProviderSignIn?
    ) {
        store = cloud.accountStore
        changes = AccountChanges(
            sessions: store.sessions, authenticator: authenticator, now: store.serverEnvironment.now)
        let chains = store.keychains(proofLimiter)
        let signIn = DeviceSignIn(store: store, proofGuard: proofLimiter)
        sessions = SessionEndpoints(signIn: signIn, cloud: cloud, changes: changes)
        data = AccountDataEndpoint(cloud: cloud, signIn: signIn)
        accounts = AccountEndpoints(
            signUp: SignUp(
                store: store, isOpen: isSignUpOpen, hourMax: cloud.limits.signUpsMax, roundsMin: rounds,
                proofLimiter: proofLimiter),
            keychains: chains,
            deletions: store.deletions, proofLimiter: proofLimiter, deletionGrace: deletionGrace, changes: changes,
            mail: mail)
        address = AddressEndpoint(
            store: store, sessions: store.sessions, proofLimiter: proofLimiter, mail: mail)
        passkeys = PasskeyEndpoints(
            passkeys: store.passkeys(proofLimiter), store: store, providerLabel: provider?.label)
        providers = ProviderEndpoints(
            signIn: provider, store: store, proofLimiter: proofLimiter, isSignUpOpen: isSignUpOpen)
        approvals = ApprovalEndpoints(requests: store.keyRequests, store: store)
        keychains = KeychainEndpoints(keychains: chains, cloud: cloud, changes: changes)
    }

    func list(_ call: DeviceCall) async throws -> EndpointResponse {
        let now = store.serverEnvironment.now()
        let (own, account) = try await changes.sessions.owner(of: try call.accountSender(in: store), now: now)
        let lines = try await changes.sessions.sessions(of: account).filter { $0.expires > now }.map {
            DeviceLine($0, of: account, caller: own)
        }
        return try .json(["devices": lines])
    }

    func revoke(_ call: DeviceCall) async throws -> EndpointResponse {
        let sender = try call.accountSender(in: store)
        let id = try SmallJSON.decode(RevokeBody.self, from: call.body).revoke
        let (_, account) = try await changes.sessions.owner(of: sender, now: store.serverEnvironment.now())
        let revoked = try await changes.after(sender) {
            try await changes.sessions.revoke(id, ofAccount: account.id)
        }
        return try response(to: revoked)
    }

    func rename(_ call: DeviceCall) async throws -> EndpointResponse {
        let device = try SmallJSON.decode(DeviceBody.self, from: call.body).device
        let body = try SmallJSON.decode(RenameBody.self, from: call.body)
        let (_, account) = try await changes.sessions.owner(of: device, now: store.serverEnvironment.now())
        return try response(
            to: try await changes.sessions.rename(body.rename, to: body.name, ofAccount: account.id))
    }

    private func response(to matches: [DeviceSession]) throws -> EndpointResponse {
        switch matches.count {
        case 1: return .emptyObject
        case 0: throw RequestFailure(.itemNotFound, "the account has no such device", remedy: "List the devices.")
        default: throw RequestFailure(.badRequest, "more than one device begins so", remedy: "Send more digits.")
        }
    }

    func setDiscovery(_ call: DeviceCall) async throws -> EndpointResponse {
        let device = try SmallJSON.decode(DeviceBody.self, from: call.body).device
        let wanted = try SmallJSON.decode(DiscoveryBody.self, from: call.body).isDiscoverable
        let (_, account) = try await changes.sessions.owner(of: device, now: store.serverEnvironment.now())
        guard let wanted else { return try .json(["isDiscoverable": account.isDiscoverable]) }
        try await store.accounts.setDiscoverable(wanted, email: account.email)
        return try .json(["isDiscoverable": wanted])
    }

    func setWebKeys(_ call: DeviceCall) async throws -> EndpointResponse {
        let device = try SmallJSON.decode(DeviceBody.self, from: call.body).device
        let wanted = try SmallJSON.decode(WebKeysBody.self, from: call.body).allowsWebKeys
        let (_, account) = try await changes.sessions.owner(of: device, now: store.serverEnvironment.now())
        guard let wanted else { return try .json(["allowsWebKeys": account.allowsWebKeys]) }
        try await changes.after(device) {
            try await store.accounts.setAllowsWebKeys(wanted, email: account.email)
        }
        return try .json(["allowsWebKeys": wanted])
    }

    func lookupIdentities(_ call: DeviceCall) async throws -> EndpointResponse {
        guard call.user != nil else { throw RequestFailure.userNeeded }
        let names = try SmallJSON.decode(IdentitiesBody.self, from: call.body).userRecordNames
        let entries = try await store.identities.lookup(
            names.map(UserID.init), in: call.place.container)
        return try .json(["identities": entries.map(IdentityLine.init)])
    }

    private struct DiscoveryBody: Decodable {
        var isDiscoverable: Bool?
    }

    private struct WebKeysBody: Decodable {
        var allowsWebKeys: Bool?
    }

    private struct RevokeBody: Decodable {
        var revoke: String
    }

    private struct RenameBody: Decodable {
        var rename: String
        var name: String
    }

    private struct IdentitiesBody: Decodable {
        var userRecordNames: [String]
    }

    private struct IdentityLine: Encodable {
        var userRecordName: String
        var identity: Data
        var generation: Int

        init(_ entry: Identities.Entry) {
            userRecordName = entry.user.recordName
            identity = Data(entry.identity)
            generation = entry.generation
        }
    }

    private struct DeviceLine: Encodable {
        var deviceID: String
        var name: String
        var created: Int64
        var expires: Int64
        var isBrowser: Bool
        var isCaller: Bool
        var isOutdated: Bool

        init(_ session: DeviceSession, of account: Account, caller: DeviceSession) {
            deviceID = session.id
            name = session.name
            created = session.created
            expires = session.expires
            isBrowser = session.isBrowser
            isCaller = session.id == caller.id
            isOutdated = session.isOutdated(for: account)
        }
    }
}
