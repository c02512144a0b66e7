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

    /// Sends one request and returns its response.
    ///
    /// - Throws: `CallFailure`, also for a response that reports an error.
    func send(
        _ method: TransportRequest.Method, _ url: URL, headers: [String: String], body: [UInt8] = []
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
        guard !(200..<300).contains(response.status) else { return response }
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
