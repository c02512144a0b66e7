import CloudKitClient
import Foundation
import Synchronization

/// The cloud's will: records all traffic, and changes answers while a lie is told.
///
/// It stands between the devices and a real cloud. It sees what that cloud sees, and may answer in its place.
final class Liar: Sendable {
    /// Changes an answer; what it leaves unchanged is the real cloud's.
    typealias Lie = @Sendable (inout Exchange) -> Void
    /// Answers in the real cloud's place, which then never sees the request; nil: it does.
    typealias Interception = @Sendable (TransportRequest, _ device: String) -> TransportResponse?

    private struct State {
        var lie: Lie?
        var interception: Interception?
        var told = 0
        var traffic: [Exchange] = []
    }

    private let state = Mutex(State())

    /// Changes all later answers.
    func tell(_ lie: @escaping Lie) { state.withLock { $0.lie = lie } }

    /// Answers later requests.
    func intercept(_ interception: @escaping Interception) { state.withLock { $0.interception = interception } }

    /// Passes everything on from now on.
    func stop() {
        state.withLock { state in
            state.lie = nil
            state.interception = nil
        }
    }

    /// The number of answers that were not the real cloud's.
    var told: Int { state.withLock { $0.told } }

    /// Everything that the cloud has seen and said.
    var traffic: [Exchange] { state.withLock { $0.traffic } }

    /// The different versions of a record that honest answers had, the oldest first, without repetition.
    ///
    /// - Parameter person: nil: in answers to any person.
    func versions(of name: String, in database: String = "private", person: String? = nil) -> [JSON] {
        var versions: [JSON] = []
        var tags: Set<String> = []
        for exchange in traffic
        where exchange.database == database && (person ?? exchange.person) == exchange.person {
            for record in exchange.answer.records where record.recordName == name {
                guard let fields = record["fields"]?.pairs, !fields.isEmpty || record["participants"] != nil,
                    let tag = record["recordChangeTag"]?.text, tags.insert(tag).inserted
                else { continue }
                versions.append(record)
            }
        }
        return versions
    }

    fileprivate func intercepted(_ request: TransportRequest, _ device: String) -> TransportResponse? {
        guard let interception = state.withLock({ $0.interception }),
            let response = interception(request, device)
        else { return nil }
        state.withLock { state in
            state.told += 1
            state.traffic.append(Exchange(request, response, of: device))
        }
        return response
    }

    fileprivate func answer(_ request: TransportRequest, _ response: TransportResponse, _ device: String)
        -> TransportResponse
    {
        let honest = Exchange(request, response, of: device)
        let lie = state.withLock { state in
            state.traffic.append(honest)
            return state.lie
        }
        guard let lie else { return response }
        var changed = honest
        lie(&changed)
        guard changed.body != honest.body || changed.status != honest.status else { return response }
        state.withLock { state in
            state.told += 1
            state.traffic.append(changed)
        }
        var response = response
        response.status = changed.status
        response.headers = changed.headers
        response.body = changed.body
        return response
    }
}

/// The transport of a device: over HTTP to the real cloud, past the liar.
struct LyingTransport: Transport {
    let liar: Liar
    let device: String
    let real: any Transport

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        if let response = liar.intercepted(request, device) { return response }
        return liar.answer(request, try await real.send(request), device)
    }
}
