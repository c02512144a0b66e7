extension CloudConfiguration {
    /// The host names under which operators' endpoints answer: those of this machine, of the address to listen on and of
    /// `publicURL`, and those that the operator gave; in lower case, without ports.
    var operatorNames: Set<String> {
        var names: Set<String> = ["localhost", "127.0.0.1", "[::1]"]
        if !["0.0.0.0", "::", "[::]"].contains(host) { names.insert(Self.name(of: host)) }
        if let publicURL, let start = publicURL.firstRange(of: "://")?.upperBound {
            names.insert(Self.name(of: String(publicURL[start...].prefix { $0 != "/" })))
        }
        names.formUnion(operatorHosts.map { Self.name(of: $0) })
        return names
    }

    private static func name(of host: String) -> String {
        let isBareIPv6 = !host.hasPrefix("[") && host.count(where: { $0 == ":" }) > 1
        let text = (isBareIPv6 ? "[\(host)]" : host).lowercased()
        if text.hasPrefix("[") { return String(text.prefix { $0 != "]" }) + "]" }
        return String(text.prefix { $0 != ":" })
    }
}
