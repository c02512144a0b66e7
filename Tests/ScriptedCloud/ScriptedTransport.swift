import CloudKitClient
import CloudKitModel
import CloudKitWire
import Foundation
import Synchronization

/// A cloud whose answers the test provides.
package final class ScriptedTransport: Transport {
    package typealias Answer = @Sendable (TransportRequest) async throws -> TransportResponse

    private struct State {
        var answers: [Answer] = []
        var requests: [TransportRequest] = []
    }

    private let state: Mutex<State>

    /// One answer after the other; the last one is given again and again.
    package init(_ answers: Answer...) { state = Mutex(State(answers: answers)) }

    package var requests: [TransportRequest] { state.withLock { $0.requests } }

    package func send(_ request: TransportRequest) async throws -> TransportResponse {
        // A cloud without a directory: nothing that the tests script depends on one.
        if request.url.path.hasSuffix("/directory/lookup") {
            return .refusal(RequestFailure(.itemNotFound, "no directory"))
        }
        let answer = state.withLock { state in
            state.requests.append(request)
            return state.answers.count > 1 ? state.answers.removeFirst() : state.answers.first
        }
        guard let answer else { throw TransportFailure.unreachable }
        return try await answer(request)
    }
}

extension TransportResponse {
    package static let style = WireStyle(surface: .native, caller: UserID("_me"), requestUUID: "request")

    package static func records(_ outcomes: [RecordOutcome]) -> TransportResponse {
        TransportResponse(status: 200, body: outcomes.wireAnswer(style: style))
    }

    package static func zones(_ outcomes: [ZoneOutcome]) -> TransportResponse {
        TransportResponse(status: 200, body: outcomes.wireAnswer(style: style))
    }

    package static func subscriptions(_ outcomes: [SubscriptionOutcome]) -> TransportResponse {
        TransportResponse(status: 200, body: outcomes.wireAnswer(style: style))
    }

    package static func query(_ page: QueryPage) -> TransportResponse {
        TransportResponse(status: 200, body: page.wireAnswer(style: style))
    }

    package static func changes(_ outcomes: ZoneChangesOutcome...) -> TransportResponse {
        TransportResponse(status: 200, body: outcomes.wireAnswer(style: style))
    }

    package static func changes(_ page: DatabaseChangesPage) -> TransportResponse {
        TransportResponse(status: 200, body: page.wireAnswer(style: style))
    }

    package static func user(_ name: String) -> TransportResponse {
        TransportResponse(status: 200, body: UserIdentity(user: UserID(name)).wireAnswer())
    }

    package static func refusal(_ failure: RequestFailure, headers: [String: String] = [:]) -> TransportResponse {
        TransportResponse(
            status: failure.code.httpStatus, headers: headers,
            body: WireError(failure: failure).wireAnswer(style: style))
    }
}

extension TransportRequest {
    /// The value of a query item, unescaped.
    package func item(_ name: String) -> String? {
        URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems?.first { $0.name == name }?.value
    }

    package func modification() throws -> ModifyRecordsRequest { try ModifyRecordsRequest(wire: body, limits: .native) }
    package func lookup() throws -> LookupRecordsRequest { try LookupRecordsRequest(wire: body, limits: .native) }
    package func search() throws -> QueryRecordsRequest { try QueryRecordsRequest(wire: body, limits: .native) }
    package func zoneChanges() throws -> [ZoneChangesRequest] { try [ZoneChangesRequest](wire: body, limits: .native) }
}

extension Record {
    package static func stored(_ name: String, in zone: ZoneID = .default, tag: String = "1", type: String = "Note")
        -> Record
    {
        let stamp = Stamp(timestamp: 1_000, user: UserID("_me"))
        return Record(
            id: RecordID(recordName: name, zoneID: zone), recordType: type, fields: [], changeTag: ChangeTag(tag),
            created: stamp, modified: stamp)
    }
}

extension ScriptedTransport {
    /// Saves and deletes everything.
    package static let savesAll: Answer = { request in
        let modification = try request.modification()
        return .records(
            modification.operations.map { operation in
                let name = operation.change.recordName ?? "?"
                if operation.kind.isDelete { return .deleted(RecordTombstone(recordName: name)) }
                var record = Record.stored(name, in: modification.zoneID, type: operation.change.recordType ?? "?")
                for case .set(let field) in operation.change.fields { record.fields.append(field) }
                record.protection = operation.change.protection
                return .record(record)
            })
    }

    /// Finds every record but those whose name begins with "missing".
    package static let findsAll: Answer = { request in
        let lookup = try request.lookup()
        return .records(
            lookup.records.map { item in
                item.recordName.hasPrefix("missing")
                    ? .failed(recordName: item.recordName, RequestFailure(.itemNotFound, "Record not found"))
                    : .record(.stored(item.recordName, in: lookup.zoneID))
            })
    }

    package static let isNotThere: Answer = { _ in throw TransportFailure.unreachable }
}
