extension PageRequest {
    /// Returns the address of a page that exists for the cloud and for each container.
    func logAddress(_ segments: [String], query: [(name: String, value: String?)] = []) -> Address {
        guard let place = containerPath else { return Address(segments: segments, query: query) }
        return Address(
            segments: ["containers", place.container.name, place.environment.rawValue] + segments, query: query)
    }
}
