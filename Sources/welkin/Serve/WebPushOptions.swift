import ArgumentParser
import CloudKitDevice
import CloudKitServer
import HTTPTransfer
import WebPush

/// The options for Web Push.
struct WebPushOptions: ParsableArguments {
    @Option(
        name: .customLong("web-push"),
        help: "Whether the cloud sends notifications to browsers through their push services: on or off.")
    var mode: WebPushMode = .off

    @Option(
        name: .customLong("web-push-contact"),
        help: ArgumentHelp(
            "Your contact for the operators of push services, mailto: or https:; Apple's service requires it.",
            valueName: "uri"))
    var contact: String?

    @Option(
        name: .customLong("web-push-allow-host"), parsing: .singleValue,
        help: ArgumentHelp(
            "A push service of your own, host or host:port; it may be in a private network and use plain HTTP. May be "
                + "repeated.", valueName: "host"))
    var namedHosts: [String] = []

    func validate() throws {
        if let contact, !contact.hasPrefix("mailto:"), !contact.hasPrefix("https://") {
            throw ValidationError("--web-push-contact begins with mailto: or https://.")
        }
        for host in namedHosts where host.isEmpty || host.contains(where: { "/@ ".contains($0) }) {
            throw ValidationError("--web-push-allow-host is a host, or host:port, without scheme and path.")
        }
    }

    /// The maximum number of concurrent messages to a push service; most browsers use one of three services.
    private static let messagesPerServiceMax = 32

    /// Returns the enabled push services.
    ///
    /// - Parameter publicURL: The cloud's address, used as contact if no other is given.
    func services(in folder: DataFolder, publicURL: String?) throws -> [any PushService] {
        guard mode == .on else { return [] }
        let webAddress = publicURL.flatMap { $0.hasPrefix("https://") ? $0 : nil }
        // A separate client: connections to hosts that clients have named serve nothing else.
        let client = HTTPClient(requestsPerOriginMax: Self.messagesPerServiceMax)
        return [
            WebPush(
                key: try folder.webPushKey(), contact: contact ?? webAddress,
                rules: WebPushEndpointRules(namedHosts: namedHosts), serverEnvironment: folder.serverEnvironment,
                sender: { try await client.send($0) })
        ]
    }
}

/// Whether Web Push is enabled.
enum WebPushMode: String, ExpressibleByArgument {
    case on, off

    var announcement: String {
        switch self {
        case .on: "web push on: subscribed browsers get notifications through their push services"
        case .off: "web push off: browsers get notifications only while a page is open (enable with --web-push on)"
        }
    }
}

extension DataFolder {
    /// Reads the key that identifies this cloud to push services; creates it if it is missing: the same one at all nodes, which share the secret.
    func webPushKey() throws -> ApplicationServerKey {
        let path = path + "/web-push-key.pem"
        let fresh = isShared ? ApplicationServerKey(secret: serverEnvironment.secret) : ApplicationServerKey()
        let held = try PrivateFile.readOrCreate(path, Array(fresh.pem.utf8))
        do {
            return try ApplicationServerKey(pem: String(decoding: held, as: UTF8.self))
        } catch {
            throw WebPushKeyError(path: path)
        }
    }
}

/// The error of a key file with other content.
struct WebPushKeyError: Error, CustomStringConvertible {
    var path: String

    var description: String {
        "\(path) is not a private P-256 key in PEM form. Restore it from a backup; with a new key, browsers get no notifications "
            + "until their users enable them again."
    }
}
