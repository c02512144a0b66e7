import FileStore

/// The service of an object store and the keys that it knows this cloud by.
package struct S3Settings: Hashable, Sendable {
    /// Scheme, host and port, such as `https://s3.eu-central-1.amazonaws.com`.
    package let endpoint: String
    /// The same at which devices reach the service, for downloads that do not come through this process; nil: all do.
    package let publicEndpoint: String?
    /// The region that signatures name.
    package let region: String
    /// The name of the key.
    package let accessKey: String
    /// The key.
    let secretKey: String

    /// The region of services that have none.
    package static let regionDefault = "us-east-1"

    /// Checks settings.
    ///
    /// - Parameters:
    ///   - endpoint: `https://host` or `https://host:port`; `http` for this machine alone. nil: the service of AWS in the region.
    ///   - publicEndpoint: The address at which devices reach the service, in the same form; nil: they do not.
    ///   - region: The region; nil: `us-east-1`, which services without regions expect.
    ///   - accessKey: The name of the key.
    ///   - secretKey: The key.
    /// - Throws: `unavailable` with the setting that is missing or cannot be used; never with a key.
    package init(
        endpoint: String?, publicEndpoint: String? = nil, region: String?, accessKey: String?, secretKey: String?
    ) throws(FileStoreError) {
        let region = region ?? Self.regionDefault
        guard Self.isWord(region, "-_") else { throw .settings("the region has other characters than a region's") }
        guard let accessKey, Self.isWord(accessKey, "-_.:+/=@") else {
            throw .settings("the access key is missing, or has characters that none has")
        }
        guard let secretKey, !secretKey.isEmpty, secretKey.utf8.allSatisfy({ $0 > 32 && $0 < 127 }) else {
            throw .settings("the secret key is missing, or has characters that none has")
        }
        self.endpoint = try Self.checked(endpoint ?? "https://s3.\(region).amazonaws.com", "endpoint")
        self.publicEndpoint = try publicEndpoint.map { address throws(FileStoreError) in
            try Self.checked(address, "public endpoint")
        }
        self.region = region
        self.accessKey = accessKey
        self.secretKey = secretKey
    }

    /// The host as requests name it: without the port that the scheme implies.
    var host: String { Self.host(of: endpoint) }

    /// Returns the host of an endpoint as requests name it.
    static func host(of endpoint: String) -> String {
        let isTLS = endpoint.hasPrefix("https://")
        let host = endpoint.dropFirst(isTLS ? 8 : 7).lowercased()
        let implied = isTLS ? ":443" : ":80"
        return host.hasSuffix(implied) ? String(host.dropLast(implied.count)) : host
    }

    /// Returns an address without slashes at its end.
    private static func checked(_ address: String, _ name: String) throws(FileStoreError) -> String {
        var address = address
        while address.hasSuffix("/") { address.removeLast() }
        guard isEndpoint(address) else {
            throw .settings("the \(name) is not https://host or https://host:port, or http:// for this machine")
        }
        return address
    }

    private static func isWord(_ text: String, _ others: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (48...57).contains($0) || (97...122).contains($0 | 0x20) || others.utf8.contains($0)
            }
    }

    private static func isEndpoint(_ address: String) -> Bool {
        let isTLS = address.hasPrefix("https://")
        guard isTLS || address.hasPrefix("http://") else { return false }
        let host = address.dropFirst(isTLS ? 8 : 7)
        guard isWord(String(host), ".-:[]") else { return false }
        // Files of public databases are plain, and answers are not signed.
        return isTLS || ["127.0.0.1", "localhost", "[::1]"].contains { host == $0 || host.hasPrefix($0 + ":") }
    }
}

extension S3Settings: CustomStringConvertible, CustomDebugStringConvertible {
    /// The service and its region; no keys.
    package var description: String { "\(endpoint), region \(region)" }
    /// The same as `description`.
    package var debugDescription: String { description }
}
