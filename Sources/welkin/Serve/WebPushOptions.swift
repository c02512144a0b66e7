import ArgumentParser
import CloudKitDevice
import CloudKitServer
import HTTPTransfer
import WebPush

/// Whether and how the cloud rings at browsers.
struct WebPushOptions: ParsableArguments {
    @Option(
        name: .customLong("web-push"),
        help: "Whether browsers get notifications by their push services, which this cloud then sends to: on or off.")
    var mode: WebPushMode = .off

    @Option(
        name: .customLong("web-push-contact"),
        help: ArgumentHelp(
            "How operators of push services reach you, mailto: or https:; Apple's takes nothing without.",
            valueName: "uri"))
    var contact: String?

    @Option(
        name: .customLong("web-push-allow-host"), parsing: .singleValue,
        help: ArgumentHelp(
            "A push service of your own, with its port or without: it may be in a private network and speak plain HTTP. Can be "
                + "given several times.", valueName: "host"))
    var namedHosts: [String] = []

    func validate() throws {
        if let contact, !contact.hasPrefix("mailto:"), !contact.hasPrefix("https://") {
            throw ValidationError("--web-push-contact begins with mailto: or https://.")
        }
        for host in namedHosts where host.isEmpty || host.contains(where: { "/@ ".contains($0) }) {
            throw ValidationError("--web-push-allow-host is a host, or host:port, without scheme and path.")
        }
    }

    /// Messages under way to one push service at a time; most browsers have one of three.
    private static let messagesPerServiceMax = 32

    /// The push services that are switched on.
    ///
    /// - Parameter publicURL: Of the cloud: a way to reach its operator, where no other is given.
    func services(in folder: DataFolder, publicURL: String?) throws -> [any PushService] {
        guard mode == .on else { return [] }
        let webAddress = publicURL.flatMap { $0.hasPrefix("https://") ? $0 : nil }
        // A client of its own: connections to hosts that clients have named are used for nothing else.
        let client = HTTPClient(requestsPerOriginMax: Self.messagesPerServiceMax)
        return [
            WebPush(
                key: try folder.webPushKey(), contact: contact ?? webAddress,
                rules: WebPushEndpointRules(namedHosts: namedHosts), serverEnvironment: folder.serverEnvironment,
                sender: { try await client.send($0) })
        ]
    }
}

enum WebPushMode: String, ExpressibleByArgument {
    case on, off

    var announcement: String {
        switch self {
        case .on: "web push on: browsers that ask for it get notifications by their push services"
        case .off: "web push off: browsers get notifications while a page is open (--web-push on changes that)"
        }
    }
}

extension DataFolder {
    /// The key by which push services know this cloud; made when there is none.
    func webPushKey() throws -> ApplicationServerKey {
        let path = path + "/web-push-key.pem"
        let held = try PrivateFile.readOrCreate(path, Array(ApplicationServerKey().pem.utf8))
        do {
            return try ApplicationServerKey(pem: String(decoding: held, as: UTF8.self))
        } catch {
            throw WebPushKeyError(path: path)
        }
    }
}

/// The key's file does not hold one.
struct WebPushKeyError: Error, CustomStringConvertible {
    var path: String

    var description: String {
        "\(path) is not a private P-256 key in PEM form. Restore it from a backup; with a new one, browsers get no notifications "
            + "until their people turn them on again."
    }
}
