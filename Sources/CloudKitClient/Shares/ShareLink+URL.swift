import CloudKitModel
import Foundation

extension ShareLink {
    /// The link of a share in an archive whose link is missing; the cloud knows none like it.
    package static let unknown = ShareLink(endpoint: "https://unknown.invalid", shortGUID: "unknown")

    /// Reads the URL of a share of any cloud: `https://HOST/share/SHORT-GUID#FRAGMENT`; nil for any other URL.
    package init?(_ url: URL) {
        let guid = ShareInvitationRequest.shortGUID(of: url.path)
        guard !guid.isEmpty, let scheme = url.scheme, let host = url.host else { return nil }
        let port = url.port.map { ":\($0)" } ?? ""
        self.init(endpoint: "\(scheme)://\(host)\(port)", shortGUID: guid, fragment: url.fragment)
    }
}
