import CloudKitDevice
import CloudKitModel
import CloudKitWire
import Foundation

/// Requests for the bytes of files, at the URLs that the cloud returned for them.
///
/// Such a URL is a permission in itself: no token of this device is sent with it.
struct AssetRequests: Sendable {
    let cloud: CloudAccess
    let settings: CallSettings
    private let direct = DirectRoute()

    init(cloud: CloudAccess, settings: CallSettings) {
        self.cloud = cloud
        self.settings = settings
    }

    /// Fetches bytes of a file: from the address elsewhere to which the cloud leads, and through the cloud where that fails.
    ///
    /// - Throws: `CallFailure`, also for a response that reports an error.
    func fetch(_ url: URL, headers: [String: String]) async throws(CallFailure) -> TransportResponse {
        guard direct.isOpen else { return try await send(.get, url, headers: headers) }
        let answer = try await send(
            .get, url, headers: headers.merging([Self.directHeader: "yes"]) { $1 }, accepts: [Self.redirection])
        guard answer.status == Self.redirection else { return answer }
        if let response = await fetchElsewhere(answer.headers["location"], headers) { return response }
        direct.close()
        return try await send(.get, url, headers: headers)
    }

    /// Returns a response with bytes from another address; nil if there is none.
    private func fetchElsewhere(_ address: String?, _ headers: [String: String]) async -> TransportResponse? {
        guard let address, let url = try? url(address),
            let response = try? await cloud.transport.send(
                TransportRequest(
                    method: .get, url: url, headers: headers, body: [], timeout: settings.requestTimeout,
                    allowsCellularAccess: settings.allowsCellularAccess)),
            response.status == 200 || response.status == 206
        else { return nil }
        return response
    }

    private static let directHeader = "X-Welkin-Direct-Download"
    private static let redirection = 307

    /// Sends one request and returns its response.
    ///
    /// - Parameter accepts: Statuses beside those of success that the caller understands.
    /// - Throws: `CallFailure`, also for a response that reports an error.
    func send(
        _ method: TransportRequest.Method, _ url: URL, headers: [String: String], body: [UInt8] = [],
        accepts: Set<Int> = []
    ) async throws(CallFailure) -> TransportResponse {
        if let remaining = cloud.gate.remaining(at: cloud.clientEnvironment.now()) { throw .rateLimited(remaining) }
        let response: TransportResponse
        do {
            try Task.checkCancellation()
            response = try await cloud.transport.send(
                TransportRequest(
                    method: method, url: url, headers: cloud.surface.headers(settings).merging(headers) { $1 },
                    body: body,
                    timeout: settings.requestTimeout, allowsCellularAccess: settings.allowsCellularAccess))
        } catch {
            throw Task.isCancelled ? .cancelled : CallFailure(error)
        }
        cloud.contact.noteAnswer(at: cloud.clientEnvironment.now())
        guard !(200..<300).contains(response.status), !accepts.contains(response.status) else { return response }
        throw .refused(cloud.refusal(of: response))
    }

    /// The address in an answer of the cloud.
    ///
    /// - Throws: `CallFailure.assetNotAvailable` for one to which nothing may be sent: not of the web, or not encrypted
    ///   although it leads away from this machine.
    func url(_ text: String) throws(CallFailure) -> URL {
        let base = (try? cloud.place.get().endpoint).flatMap(URL.init(string:))
        // `${f}` stands for a file name of the client's choice (docs/web-services.md §7).
        guard let url = URL(string: text.replacing("${f}", with: "file"), relativeTo: base)?.absoluteURL,
            DeviceConfiguration.isEncryptedOrLocal(url)
        else { throw .assetNotAvailable("The cloud gave no address for the file that this device may use") }
        return url
    }
}
