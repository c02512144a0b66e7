extension EndpointTable {
    /// Adds the paths of sites.
    mutating func addSites(_ sites: [any MountedSite], _ services: SiteServices) {
        for site in sites {
            addPrefix(
                .site, at: site.path, methods: .page,
                parameter: { $0.isEmpty || $0.utf8.first == UInt8(ascii: "/") ? $0 : nil },
                handler: { try await site.respond(to: $0, with: services) })
        }
    }
}
