import CloudKitAccounts
import CloudKitModel
import CloudKitWire
import IdentityDirectory

/// The endpoints of the verifiable directory (docs/directory.md):
/// - `directory/lookup {addresses, userRecordNames, heads}` → proofs for addresses and for users of the container, with the newest signed
///   head and the proofs that it continues earlier ones; for a user with a web token.
/// - `GET /directory/history?from=N` → heads from a number on, with the changes that each consists of; for auditors, without a token.
struct DirectoryEndpoints: Sendable {
    let store: AccountStore
    let limits: WireLimits

    func lookup(_ call: DeviceCall) async throws -> EndpointResponse {
        guard let user = call.user else { throw RequestFailure.userNeeded }
        let request = try DirectoryLookupRequest(wire: call.body, limits: limits)
        let container = call.place.container
        // An address that is none has no entry under any spelling.
        let addresses = request.addresses.map { DirectoryLabel.address(EmailAddress($0)?.normalised ?? $0) }
        let users = request.users.map { DirectoryLabel.user($0, container: container.name) }
        let directory = store.directory
        let answer = try await directory.lookup(
            addresses + users, of: try await store.userNames.owner(of: user, in: container), earlier: request.heads)
        let body = DirectoryLookupAnswer(
            keys: directory.keys.bytes, head: answer.head.bytes, proofs: answer.proofs.map(\.bytes),
            heads: answer.earlier.map { .init(head: $0.head.bytes, proof: $0.proof.bytes) })
        return EndpointResponse(
            body: body.wireAnswer(), itemsIn: addresses.count + users.count, itemsOut: answer.proofs.count)
    }

    func history(_ request: IncomingRequest) async throws -> EndpointResponse {
        guard let text = request.query.from, let number = UInt64(text) else {
            throw RequestFailure(
                .badRequest, "the number of the first head is missing", remedy: "Add ?from= and a number, from 0 on.")
        }
        let directory = store.directory
        let history = try await directory.history(from: number)
        return try .json(
            DirectoryHistoryAnswer(
                keys: directory.keys, newest: history.newest,
                heads: history.heads.map { .init(head: $0.head, updates: $0.updates) }))
    }
}
