import ArgumentParser
import CloudKit
import CloudKitDevice
import CloudKitUI

/// Shows the panel of a share as text, as an app does in a terminal.
struct SharePanelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "panel", abstract: "Show who takes part in a share, and change it.",
        discussion: """
            Shows the sharing panel of apps as text: people, what they may do, who may join, the link, requests for access. \
            Type help in it to see the commands. The share is one of the account's own or one that it has joined, by its \
            link, title or name; without one, the only share of the container, or a list to choose from.
            """)

    @OptionGroup var device: DeviceOptions
    @Argument(help: ArgumentHelp("The share's link, title or name.", valueName: "share")) var wanted: String?

    func run() async throws {
        do {
            let found: (share: CKShare, container: CKContainer)?
            if let wanted, wanted.contains("://") {
                found = try await linked(wanted)
            } else {
                found = try await chosen()
            }
            if let found { try await show(found.share, in: found.container) }
        } catch let error as CKError where error.code == .notAuthenticated {
            throw CommandFailure("nobody is signed in on this device; sign in with welkin login")
        } catch let error as CKError {
            throw CommandFailure(error.localizedDescription)
        }
    }

    @MainActor private func show(_ share: CKShare, in container: CKContainer) async throws {
        try await UICloudSharingController(share: share, container: container).present(on: .terminal)
    }

    /// Returns the share of a link that the user owns or has accepted.
    private func linked(_ link: String) async throws -> (CKShare, CKContainer) {
        var configuration = try DeviceConfiguration.opening(
            try ShareAddress(link), endpoint: device.endpoint, variables: device.variables)
        let found = try await SignIn(configuration: configuration, send: WebSend.send).linkedShare(link)
        guard found.isOwner || found.isAccepted else {
            throw CommandFailure("you have not joined this share; join it with welkin open --accept LINK")
        }
        configuration.environment = found.environment
        let container = CKContainer(identifier: found.container, configuration: configuration)
        guard let url = URL(string: link) else { throw CommandFailure("\(link) is no link to a share") }
        let metadata = try await container.shareMetadata(for: url)
        return (metadata.share, container)
    }

    /// Returns the share that the argument names, or the only one; nil after a list of several.
    private func chosen() async throws -> (CKShare, CKContainer)? {
        let (configuration, name) = try device.signIn()
        let container = CKContainer(identifier: name, configuration: configuration)
        let all = try await ListedShare.all(in: container)
        let shares = all.filter { $0.isNamed(wanted) }
        if shares.isEmpty { throw CommandFailure(Self.nothing(wanted, in: name, isAny: !all.isEmpty)) }
        if shares.count == 1 { return (shares[0].share, container) }
        Output.table(shares.enumerated().map { ["\($0 + 1)"] + $1.row })
        guard let number = Confirmation.answer("Which one? Type its number: ") else {
            Output.remark("Show one of them with: welkin share LINK, or its title or name")
            return nil
        }
        guard let choice = Int(number), shares.indices.contains(choice - 1) else {
            throw CommandFailure("\u{201C}\(number.onOneLine)\u{201D} is no number of the list; nothing was changed")
        }
        return (shares[choice - 1].share, container)
    }

    private static func nothing(_ wanted: String?, in container: String, isAny: Bool) -> String {
        guard let wanted else {
            return "nothing is shared in \(container); an app shares records, and links are joined with welkin open"
        }
        let hint = isAny ? "welkin share lists the shares" : "nothing is shared there at all"
        return "no share in \(container) has the title or name \u{201C}\(wanted.onOneLine)\u{201D}; \(hint)"
    }
}

/// A share of the user's own, or one that they have joined.
struct ListedShare {
    let share: CKShare
    private let isOwn: Bool

    /// Returns the shares of a container, the user's own first, then by title.
    static func all(in container: CKContainer) async throws -> [ListedShare] {
        var found: [ListedShare] = []
        for database in [container.privateCloudDatabase, container.sharedCloudDatabase] {
            // A default zone has neither shares nor changes.
            for zone in try await database.allRecordZones() where zone.capabilities.contains(.fetchChanges) {
                let shares = try await shares(in: zone.zoneID, of: database)
                found += shares.map { ListedShare(share: $0, isOwn: database.databaseScope == .private) }
            }
        }
        return found.sorted { ($0.isOwn ? 0 : 1, $0.title, $0.name) < ($1.isOwn ? 0 : 1, $1.title, $1.name) }
    }

    // Not a query, which takes an index that a schema in production may not have.
    private static func shares(in zone: CKRecordZone.ID, of database: CKDatabase) async throws -> [CKShare] {
        var shares: [CKShare] = []
        var token: CKServerChangeToken?
        while true {
            let page = try await database.recordZoneChanges(
                inZoneWith: zone, since: token, desiredKeys: [CKShare.SystemFieldKey.title])
            shares += page.modificationResultsByID.values.compactMap { try? $0.get().record as? CKShare }
            token = page.changeToken
            if !page.moreComing { return shares }
        }
    }

    private var title: String { share[CKShare.SystemFieldKey.title] as? String ?? "" }
    private var name: String { share.recordID.recordName }

    /// Returns whether a person means this share; all are meant by nil.
    func isNamed(_ wanted: String?) -> Bool {
        guard let wanted else { return true }
        return title.caseInsensitiveCompare(wanted) == .orderedSame || name == wanted
    }

    /// The columns of the list: title, name, part, people.
    var row: [String] {
        let others = share.participants.count { $0.role != .owner }
        return [
            title.isEmpty ? "without a title" : title.onOneLine, name.onOneLine,
            isOwn ? "yours" : "joined", others == 1 ? "1 other person" : "\(others) other people",
        ]
    }
}
