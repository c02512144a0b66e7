import Foundation

/// Links to shares that were opened on this device, until the app that they are for has taken them.
///
/// A private file of the profile's folder: links may carry secrets.
package struct OpenedShares: Sendable {
    /// A link and the container that it belongs to.
    package struct Entry: Codable, Hashable, Sendable {
        /// The link of the share.
        package var link: String
        /// The container.
        package var container: String
        /// The environment.
        package var environment: String

        /// Creates a value with the given properties.
        package init(link: String, container: String, environment: String) {
            self.link = link
            self.container = container
            self.environment = environment
        }
    }

    private let file: String

    /// Links that wait; the oldest go when there are more.
    package static let entriesMax = 100

    /// Creates the list of a profile's folder.
    package init(profileFolder: String) { file = profileFolder + "/opened-shares.json" }

    /// Adds a link for the app; opening the same twice is once.
    ///
    /// - Throws: An error when the profile's folder cannot be written.
    package func put(_ entry: Entry) throws {
        try change { entries in
            entries.removeAll { $0 == entry }
            entries.append(entry)
            entries.removeFirst(max(0, entries.count - Self.entriesMax))
        }
    }

    /// Takes the links for a container away.
    package func take(container: String, environment: String) throws -> [Entry] {
        // Nothing is locked or written while nothing waits, which is nearly always.
        guard try read().contains(where: { $0.container == container && $0.environment == environment }) else {
            return []
        }
        var taken: [Entry] = []
        try change { entries in
            taken = entries.filter { $0.container == container && $0.environment == environment }
            entries.removeAll { taken.contains($0) }
        }
        return taken
    }

    /// Forgets every link: they are for the account that opened them.
    package func removeAll() throws(FileFailure) { try PrivateFile.remove(file) }

    private func change(_ body: (inout [Entry]) -> Void) throws {
        try PrivateFile.change(file, from: [], body)
    }

    private func read() throws -> [Entry] {
        try PrivateFile.read(file, or: [])
    }
}
