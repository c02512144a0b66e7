import CloudKitModel

/// A share as pages show it.
enum SharePart {
    /// Returns the share with its participants.
    static func html(_ share: Share, _ database: DatabaseChoice, zoneName: String) -> HTML {
        HTML([
            Part.facts([
                (
                    "Shared",
                    share.root.map {
                        HTML([
                            HTML("the tree of "),
                            Part.link($0, database.page("data", "record", query: ["zone": zoneName, "name": $0])),
                        ])
                    } ?? HTML("the whole zone")
                ),
                ("Public permission", HTML(word(share.publicPermission))),
                ("Access requests", HTML(share.allowsAccessRequests ? "allowed" : "not allowed")),
            ]),
            Part.table(
                caption: "Participants", columns: ["Participant", "Role", "Permission", "Invitation"],
                rows: share.participants.map { participant in
                    [
                        person(participant.identity), HTML(word(participant.role)), HTML(word(participant.permission)),
                        HTML(word(participant.acceptance)),
                    ]
                }),
        ])
    }

    private static func person(_ identity: PersonIdentity) -> HTML {
        let name = [identity.givenName, identity.familyName].compactMap { $0 }.joined(separator: " ")
        let address = identity.lookup?.emailAddress ?? identity.lookup?.phoneNumber
        let parts = [name.isEmpty ? nil : name, address, identity.user?.recordName].compactMap { $0 }
        return HTML(parts.enumerated().map { HTML([HTML($0.offset == 0 ? "" : ", "), Part.name($0.element)]) })
    }

    private static func word(_ permission: ParticipantPermission) -> String {
        switch permission {
        case .unknown: "unknown"
        case .none: "none"
        case .readOnly: "read"
        case .readWrite: "read and write"
        }
    }

    private static func word(_ role: ParticipantRole) -> String {
        switch role {
        case .unknown: "unknown"
        case .owner: "owner"
        case .administrator: "administrator"
        case .privateUser: "participant"
        case .publicUser: "by link"
        }
    }

    private static func word(_ acceptance: ParticipantAcceptance) -> String {
        switch acceptance {
        case .unknown: "unknown"
        case .pending: "pending"
        case .accepted: "accepted"
        case .removed: "removed"
        }
    }
}
