import CloudKitModel

/// A share of one of the person's zones, or one that the person has joined, as an export lists it. Keys are not in it.
package struct ExportedShare: Codable, Hashable, Sendable {
    /// A person who takes part.
    package struct Participant: Codable, Hashable, Sendable {
        /// The user's record name in the cloud of the export; nil: invited, and not known.
        package var userRecordName: String?
        /// The address or number of the invitation.
        package var contact: String?
        /// The name that the person shows.
        package var name: String?
        /// `owner`, `administrator`, `privateUser`, `publicUser`, or `unknown`.
        package var role: String
        /// `none`, `readOnly`, `readWrite`, or `unknown`.
        package var permission: String
        /// `pending`, `accepted`, `removed`, or `unknown`.
        package var acceptance: String
    }

    /// The name of the zone.
    package var zone: String
    /// The record name of the zone's owner; nil: the person.
    package var owner: String?
    /// The name of the share's record.
    package var recordName: String
    /// The record at the top of the tree; nil: the whole zone is shared.
    package var root: String?
    /// The title.
    package var title: String?
    /// The permission of users who are no participants.
    package var publicPermission: String
    /// The participants whom the person may see.
    package var participants: [Participant]
}

extension ExportedShare {
    /// Creates the entry of a share's record; nil for other records.
    init?(_ record: Record, isOwn: Bool) {
        guard let sharing = record.sharing else { return nil }
        zone = record.id.zoneID.zoneName
        owner = isOwn ? nil : record.id.zoneID.owner.recordName
        recordName = record.id.recordName
        root = sharing.root
        title = record.fields.first { $0.name == Self.titleField }.flatMap { field in
            if case .string(let text) = try? field.value() { text } else { nil }
        }
        publicPermission = "\(sharing.publicPermission)"
        participants = sharing.participants.map { Participant($0) }
    }

    private static let titleField = "cloudkit.title"
}

extension ExportedShare.Participant {
    fileprivate init(_ participant: ShareParticipant) {
        let identity = participant.identity
        let names = [identity.givenName, identity.familyName].compactMap(\.self)
        self.init(
            userRecordName: identity.user?.recordName,
            contact: identity.lookup?.emailAddress ?? identity.lookup?.phoneNumber,
            name: names.isEmpty ? nil : names.joined(separator: " "), role: "\(participant.role)",
            permission: "\(participant.permission)", acceptance: "\(participant.acceptance)")
    }
}
