import CloudKitAccounts
import CloudKitModel
import Foundation

/// The endpoints by which a device that is signed in without the account's keys gets them from another device of the account
/// (docs/encryption.md); bytes travel as base 64, times as milliseconds since 1970.
///
/// - `approvals/create {commitment}` → `{deviceID, expires}`: asks, for ten minutes.
/// - `approvals/list {}` → `{requests: [{deviceID, name, isBrowser, isCaller, address, created, expires, state, commitment, identity, approver?,
///   answer?, publicKey?, nonce?, sealed?, receipt?}]}`: the own request and the others of the account; `sealed` for the device that asks alone.
/// - `approvals/answer {device, nonce}` → `{}`: by the device that is about to approve.
/// - `approvals/reveal {publicKey, nonce}` → `{}`: by the device that asks.
/// - `approvals/approve {device, sealed}` → `{}`: by the device that answered.
/// - `approvals/refuse {device}` → `{}`: by any device of the account.
/// - `approvals/finish {receipt}` → `{}`: by the device that asks.
///
/// All are for devices, which send `deviceID` and `deviceSecret`, and for browsers on a page of the cloud, which send their web token.
struct ApprovalEndpoints {
    var requests: KeyRequests
    var store: AccountStore

    func create(_ call: DeviceCall) async throws -> EndpointResponse {
        let sender = try call.accountSender(in: store)
        let commitment = try SmallJSON.decode(CreateBody.self, from: call.body).commitment
        let request = try await requests.create(commitment: Array(commitment), by: sender, address: call.address)
        return try .json(CreateAnswer(deviceID: request.session, expires: request.expires))
    }

    func list(_ call: DeviceCall) async throws -> EndpointResponse {
        let lines = try await requests.list(by: try call.accountSender(in: store)).map(Line.init)
        return try .json(["requests": lines])
    }

    func answer(_ call: DeviceCall) async throws -> EndpointResponse {
        let sender = try call.accountSender(in: store)
        let body = try SmallJSON.decode(AnswerBody.self, from: call.body)
        try await requests.answer(body.device, nonce: Array(body.nonce), by: sender)
        return .emptyObject
    }

    func reveal(_ call: DeviceCall) async throws -> EndpointResponse {
        let sender = try call.accountSender(in: store)
        let body = try SmallJSON.decode(RevealBody.self, from: call.body)
        try await requests.reveal(publicKey: Array(body.publicKey), nonce: Array(body.nonce), by: sender)
        return .emptyObject
    }

    func approve(_ call: DeviceCall) async throws -> EndpointResponse {
        let sender = try call.accountSender(in: store)
        let body = try SmallJSON.decode(ApproveBody.self, from: call.body)
        try await requests.approve(body.device, sealed: Array(body.sealed), by: sender)
        return .emptyObject
    }

    func refuse(_ call: DeviceCall) async throws -> EndpointResponse {
        let sender = try call.accountSender(in: store)
        try await requests.refuse(try SmallJSON.decode(RefuseBody.self, from: call.body).device, by: sender)
        return .emptyObject
    }

    func finish(_ call: DeviceCall) async throws -> EndpointResponse {
        let sender = try call.accountSender(in: store)
        let receipt = try SmallJSON.decode(FinishBody.self, from: call.body).receipt
        try await requests.finish(receipt: Array(receipt), by: sender)
        return .emptyObject
    }

    private struct CreateBody: Decodable {
        var commitment: Data
    }

    private struct CreateAnswer: Encodable {
        var deviceID: String
        var expires: Int64
    }

    private struct AnswerBody: Decodable {
        var device: String
        var nonce: Data
    }

    private struct RevealBody: Decodable {
        var publicKey: Data
        var nonce: Data
    }

    private struct ApproveBody: Decodable {
        var device: String
        var sealed: Data
    }

    private struct RefuseBody: Decodable {
        var device: String
    }

    private struct FinishBody: Decodable {
        var receipt: Data
    }

    private struct Line: Encodable {
        var deviceID: String
        var name: String
        var isBrowser: Bool
        var isCaller: Bool
        var address: String
        var created: Int64
        var expires: Int64
        var state: String
        var commitment: Data
        var identity: Data
        var approver: String?
        var answer: Data?
        var publicKey: Data?
        var nonce: Data?
        var sealed: Data?
        var receipt: Data?

        init(_ listed: KeyRequests.Listed) {
            let request = listed.request
            deviceID = request.session
            name = listed.session.name
            isBrowser = listed.session.isBrowser
            isCaller = listed.isCaller
            address = request.address
            created = request.created
            expires = request.expires
            state = request.state.rawValue
            commitment = Data(request.commitment)
            identity = Data(listed.identity)
            approver = request.answer?.session
            answer = request.answer.map { Data($0.nonce) }
            publicKey = request.reveal.map { Data($0.publicKey) }
            nonce = request.reveal.map { Data($0.nonce) }
            sealed = listed.isCaller ? request.sealed.map { Data($0) } : nil
            receipt = request.receipt.map { Data($0) }
        }
    }
}
