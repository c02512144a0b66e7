import CloudKitDevice
import Foundation
import TextEncodings

/// The URLs of a share, as far as this device knows them.
package struct ShareLink: Hashable, Codable, Sendable {
    /// Scheme, host and port of the cloud.
    package var endpoint: String
    /// The short GUID of the share, the last part of the link's path.
    package var shortGUID: String
    /// The secret after the `#`; nil: there is none, or this device does not know it (B-TM-07).
    var fragment: String?
    /// The same for one-time links, by participant; on devices of the owner.
    package var slots: [String: String] = [:]

    private enum CodingKeys: String, CodingKey {
        case endpoint, shortGUID, fragment
        case slots = "seats"
    }

    /// The URL of the share; nil if the endpoint is no URL.
    package var url: URL? { url(to: shortGUID, fragment: fragment) }

    /// Returns the URL of a short GUID with a secret after the `#`; nil if the endpoint is no URL.
    package func url(to guid: String, fragment: String?) -> URL? {
        let secret = fragment.map { "#" + $0 } ?? ""
        return URL(string: endpoint + "/share/" + guid.percentEncoded + secret)
    }
}
