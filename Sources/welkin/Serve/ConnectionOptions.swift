import ArgumentParser
import CloudKitHTTP

/// The limits of connections.
struct ConnectionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The most connections to keep open; by default three quarters of what ulimit -n allows beyond a reserve.",
            valueName: "n"))
    var connectionsMax: Int?

    @Option(
        help: ArgumentHelp(
            "The most connections of one address, or of one /64 of IPv6; by default a quarter of all. It does not apply to this machine, nor behind a proxy.",
            valueName: "n"))
    var connectionsPerAddressMax: Int?

    func validate() throws {
        if let connectionsMax, connectionsMax < 1 { throw ValidationError("--connections-max is 1 or more.") }
        if let connectionsPerAddressMax, connectionsPerAddressMax < 1 {
            throw ValidationError("--connections-per-address-max is 1 or more.")
        }
    }

    /// Returns the limits of a process that may have so many descriptors open.
    func limits(descriptors: Int) throws -> ConnectionLimits {
        guard
            let limits = ConnectionLimits(
                descriptors: descriptors, connectionsMax: connectionsMax,
                connectionsPerAddressMax: connectionsPerAddressMax)
        else { throw DescriptorsError(descriptors: descriptors, connections: connectionsMax) }
        return limits
    }
}

/// The error of a process that may open too few files for its connections.
struct DescriptorsError: Error, CustomStringConvertible {
    var descriptors: Int
    var connections: Int?

    var description: String {
        let need = connections.map { "for --connections-max \($0)" } ?? "to serve"
        return "The limit of \(descriptors) open files is too low \(need). Raise it with ulimit -n."
    }
}
