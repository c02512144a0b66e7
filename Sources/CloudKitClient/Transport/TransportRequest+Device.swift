import CloudKitDevice
import Foundation

extension TransportRequest {
    /// A request of the sign-in; nil when its address is none.
    package init?(_ request: DeviceRequest) {
        guard let url = URL(string: request.url) else { return nil }
        let method = Method(rawValue: request.method) ?? .post
        self.init(method: method, url: url, headers: request.headers, body: request.body)
    }
}
