import CloudKitAccounts
import CloudKitModel
import CloudKitServer
import Foundation

/// Everything below `/device/1/{container}/{environment}/`, by what it is about. The app's API token is in the query.
///
/// Devices, besides what the parts say:
/// - `devices/list {deviceID, deviceSecret}` → `{devices: [{deviceID, name, created, expires, isBrowser, isCaller,
///   isOutdated}]}`, times as milliseconds since 1970.
/// - `devices/revoke {deviceID, deviceSecret, revoke}` → `{}`: ends another session of the account, by its id or the
///   first digits of it.
/// - `devices/rename {deviceID, deviceSecret, rename, name}` → `{}`: names a session of the account, by its id or the first
///   digits of it; 1 to 100 characters.
/// - `identities/lookup {userRecordNames}` → `{identities: [{userRecordName, identity, generation}]}`, for a user with a web
///   token; at most 100, unknown ones left out.
final class DeviceEndpoints: Sendable {
    let isSignUpOpen: Bool
    /// The fewest rounds of a new password.
    let rounds: Int
    private let sessions: SessionEndpoints
    private let accounts: AccountEndpoints
    private let keychains: KeychainEndpoints
    private let store: AccountStore
    private let changes: AccountChanges

    init(cloud: Cloud, authenticator: Authenticator, isSignUpOpen: Bool, rounds: Int) {
        self.isSignUpOpen = isSignUpOpen
        self.rounds = rounds
        store = cloud.accountStore
        changes = AccountChanges(
            sessions: store.sessions, authenticator: authenticator, now: store.serverEnvironment.now)
        let proofGuard = ProofGuard(roundsMin: rounds)
        let chains = store.keychains(proofGuard)
        sessions = SessionEndpoints(
            signIn: DeviceSignIn(store: store, proofGuard: proofGuard), cloud: cloud, changes: changes)
        accounts = AccountEndpoints(
            signUp: SignUp(store: store, isOpen: isSignUpOpen, roundsMin: rounds), keychains: chains)
        keychains = KeychainEndpoints(keychains: chains, cloud: cloud, changes: changes)
    }

    func answer(_ call: DeviceCall) async throws -> Answer {
        switch call.endpoint {
        case .sessionsPrepare, .sessionsCreate, .sessionsDelete: try await sessions.answer(call)
        case .accountsCreate, .accountsPassword: try await accounts.answer(call)
        case .devicesList: try await list(call)
        case .devicesRevoke: try await revoke(call)
        case .devicesRename: try await rename(call)
        case .identitiesLookup: try await identities(call)
        default: try await keychains.answer(call)
        }
    }

    private func list(_ call: DeviceCall) async throws -> Answer {
        let device = try SmallJSON.decode(DeviceBody.self, from: call.body).device
        let now = store.serverEnvironment.now()
        let (own, account) = try await changes.sessions.owner(of: device, now: now)
        let lines = try await changes.sessions.sessions(of: account).filter { $0.expires > now }.map {
            DeviceLine($0, account, caller: own)
        }
        return try call.answer(["devices": lines])
    }

    private func revoke(_ call: DeviceCall) async throws -> Answer {
        let device = try SmallJSON.decode(DeviceBody.self, from: call.body).device
        let id = try SmallJSON.decode(RevokeBody.self, from: call.body).revoke
        let (_, account) = try await changes.sessions.owner(of: device, now: store.serverEnvironment.now())
        let revoked = try await changes.after(device) {
            try await changes.sessions.revoke(id, ofAccount: account.id)
        }
        return try answer(call, to: revoked)
    }

    private func rename(_ call: DeviceCall) async throws -> Answer {
        let device = try SmallJSON.decode(DeviceBody.self, from: call.body).device
        let body = try SmallJSON.decode(RenameBody.self, from: call.body)
        let (_, account) = try await changes.sessions.owner(of: device, now: store.serverEnvironment.now())
        return try answer(
            call, to: try await changes.sessions.rename(body.rename, to: body.name, ofAccount: account.id))
    }

    private func answer(_ call: DeviceCall, to matches: [DeviceSession]) throws -> Answer {
        switch matches.count {
        case 1: return call.done
        case 0: throw RequestFailure(.itemNotFound, "the account has no such device", remedy: "List the devices.")
        default: throw RequestFailure(.badRequest, "more than one device begins so", remedy: "Send more digits.")
        }
    }

    private func identities(_ call: DeviceCall) async throws -> Answer {
        guard call.user != nil else { throw Call.userNeeded }
        let names = try SmallJSON.decode(IdentitiesBody.self, from: call.body).userRecordNames
        let entries = try await store.identities.lookup(names.map(UserID.init), in: call.place.container)
        return try call.answer(["identities": entries.map(IdentityLine.init)])
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

        init(_ session: DeviceSession, _ account: Account, caller: DeviceSession) {
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
