/// The host names under which operators' endpoints answer, in lower case and without ports.
struct OperatorNames: Sendable {
    var names: Set<String>

    /// Returns whether a request comes under one of the names and from no page of another origin.
    func admits(_ request: IncomingRequest) -> Bool {
        request.crossOrigin.origin == nil && request.host.map { names.contains($0.name) } == true
    }
}
