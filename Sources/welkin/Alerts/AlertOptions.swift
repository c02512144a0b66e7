import ArgumentParser

/// The options for alerts.
struct AlertOptions: ParsableArguments {
    @Option(
        name: .customLong("alert-allow-host"), parsing: .singleValue,
        help: ArgumentHelp(
            "A host, or host:port, to which web hooks of alerts may be sent although it is in a private network or speaks plain HTTP; may be repeated.",
            valueName: "host"))
    var namedHosts: [String] = []

    func validate() throws {
        for host in namedHosts where host.isEmpty || host.contains(where: { "/@ ".contains($0) }) {
            throw ValidationError("--alert-allow-host is a host, or host:port, without scheme and path.")
        }
    }
}
