import CDeterministicProcess
import CloudKitClient
import CloudKitDevice
import CloudKitHTTP
import Foundation
import HTTPTypes

/// The network between one device and the cloud: it delays, loses, repeats and cuts messages, as its chance says.
final class SimulatedNetwork: Transport, Sendable {
    /// The state of the network; probabilities in percent.
    struct Condition {
        var isDown = false
        var losesRequest = 0
        var losesAnswer = 0
        var repeats = 0
        var delaysLong = 0
    }

    let name: String
    let condition: Shared<Condition>
    private let cloud: SimulatedCloud
    private let chance: Chance
    private let planted: PlantedFault?
    private let ended = Shared(false)
    /// Ends the app once the cloud has acted on its next change of records, before the answer comes; nil: the app goes on.
    let endsWhenServed = Shared<(@Sendable () -> Void)?>(nil)
    /// What those wait for who will never go on.
    private let abandoned = Shared<[CheckedContinuation<Void, Never>]>([])
    private static let nextMessage = Shared(0)
    private let earlier = Shared<[String: TransportResponse]>([:])
    private let counted = Shared(0)

    init(
        _ name: String, to cloud: SimulatedCloud, _ chance: Chance, condition: Shared<Condition> = Shared(Condition()),
        planted: PlantedFault?
    ) {
        self.name = name
        self.condition = condition
        self.cloud = cloud
        self.chance = chance
        self.planted = planted
    }

    /// Whether the app has ended.
    var isGone: Bool { ended.value }

    /// Ends the app: nobody hears from its calls any more.
    func end() { ended.value = true }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        if isGone { await vanish() }
        let result: Result<TransportResponse, any Error>
        do {
            result = .success(try await exchange(request))
        } catch {
            result = .failure(error)
        }
        if isGone { await vanish() }
        return try result.get()
    }

    /// Never returns: the process that waits does not exist any more.
    private func vanish() async { await withCheckedContinuation { abandoned.value.append($0) } }

    private func exchange(_ request: TransportRequest) async throws -> TransportResponse {
        Self.nextMessage.value += 1
        let number = Self.nextMessage.value
        let endpoint = Self.endpoint(of: request.url)
        cloud.trail.note(
            "\(number) \(name) \(endpoint) \(Trail.digest(Self.target(request.url).utf8)) \(Trail.digest(request.body))"
        )
        let condition = condition.value
        guard !condition.isDown, cloud.cloud != nil || chance.percent(50) else {
            try await pause(50)
            return try fail(number, .unreachable)
        }
        try await pause(condition.delaysLong > 0 && chance.percent(condition.delaysLong) ? 20_000 : 40)
        if chance.percent(condition.losesRequest) { return try fail(number, .connectionLost) }
        if let forged = forge(endpoint) { return forged }
        let copies = chance.percent(condition.repeats) ? 2 : 1
        var answer: TransportResponse?
        for copy in 0..<copies {
            if copy > 0 { try await pause(2000) }
            answer = try await handle(request, number)
        }
        if answer?.status == 200, endpoint.hasSuffix("records/modify"), let end = endsWhenServed.value.take() { end() }
        try await pause(40)
        guard let answer else { return try fail(number, .connectionLost) }
        if chance.percent(condition.losesAnswer) { return try fail(number, .answerLost) }
        cloud.trail.note("\(number) \(answer.status) \(Trail.digest(answer.body))")
        return tampered(answer, endpoint)
    }

    private func fail(_ number: Int, _ failure: TransportFailure) throws -> TransportResponse {
        cloud.trail.note("\(number) \(failure)")
        throw failure
    }

    private func pause(_ milliseconds: Int) async throws {
        try await Task.sleep(for: .microseconds(1000 + chance.number(0..<(milliseconds * 1000))))
    }

    /// Returns the cloud's answer; nil if the cloud ended.
    private func handle(_ request: TransportRequest, _ number: Int) async throws -> TransportResponse? {
        let connection = try SimulatedCloud.Connection()
        let waiting = Shared<CheckedContinuation<SimulatedCloud.Answer?, any Error>?>(nil)
        let limit = Task {
            try await Task.sleep(for: .seconds(request.timeout > 0 ? min(request.timeout, 7 * 86_400) : 60))
            waiting.value.take()?.resume(throwing: TransportFailure.timedOut)
            connection.close()
        }
        defer { limit.cancel() }
        let head = try Self.head(of: request)
        let answer = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<SimulatedCloud.Answer?, any Error>) in
                guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
                waiting.value = continuation
                cloud.receive(head, body: request.body, on: connection) { answer in
                    waiting.value.take()?.resume(returning: answer)
                }
            }
        } onCancel: {
            connection.close()
            waiting.value.take()?.resume(throwing: CancellationError())
        }
        connection.close()
        guard let answer else { return nil }
        var headers: [String: String] = [:]
        for field in answer.headers { headers[field.name.rawName.lowercased()] = field.value }
        return TransportResponse(status: answer.status, headers: headers, body: answer.body)
    }

    private static func head(of request: TransportRequest) throws -> RequestHead {
        var fields = [("Host", request.url.host ?? "")]
        fields += request.headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        if !request.body.isEmpty { fields.append(("Content-Length", String(request.body.count))) }
        guard let method = HTTPRequest.Method(request.method.rawValue) else { throw TransportFailure.unreachable }
        return RequestHead(method: method, target: target(request.url), headers: RequestHeaders(fields))
    }

    private static func target(_ url: URL) -> String {
        let text = url.absoluteString
        guard let scheme = text.range(of: "://"), let slash = text[scheme.upperBound...].firstIndex(of: "/") else {
            return "/"
        }
        return String(text[slash...])
    }

    /// Returns `private/records/modify` for `/database/1/container/environment/private/records/modify`.
    private static func endpoint(of url: URL) -> String {
        let parts = url.path.split(separator: "/")
        return parts.dropFirst(parts.first == "database" || parts.first == "device" ? 4 : 0).joined(separator: "/")
    }

    // MARK: Planted faults

    private func forge(_ endpoint: String) -> TransportResponse? {
        guard planted == .forgedAnswer, endpoint == "private/records/modify" else { return nil }
        counted.value += 1
        guard counted.value.isMultiple(of: 4), let earlier = earlier.value[endpoint] else { return nil }
        return earlier
    }

    private func tampered(_ answer: TransportResponse, _ endpoint: String) -> TransportResponse {
        defer { if answer.status == 200 { earlier.value[endpoint] = answer } }
        if planted == .swappedAnswer, endpoint == "private/records/query",
            let other = earlier.value[endpoint], other.body != answer.body
        {
            counted.value += 1
            if counted.value.isMultiple(of: 2) { return other }
        }
        if planted == .lostNotifications, endpoint.hasPrefix("courier"), answer.body.count > 200 {
            var empty = answer
            empty.body = Self.emptied(answer.body)
            return empty
        }
        return answer
    }

    /// Returns an answer to a long poll with its position and without its notifications.
    private static func emptied(_ body: [UInt8]) -> [UInt8] {
        guard var object = try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any] else { return body }
        for (key, value) in object where value is [Any] { object[key] = [Any]() }
        let data = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys])
        return data.map { Array($0) } ?? body
    }
}
