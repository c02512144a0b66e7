import CloudKitModel

/// The words of docs/web-services.md §10.1; both documented sets are read, those of Apple's reference are written.
extension ParticipantRole {
    var wireName: StaticString {
        switch self {
        case .owner: "OWNER"
        case .administrator: "ADMINISTRATOR"
        case .privateUser: "USER"
        case .publicUser: "PUBLIC_USER"
        case .unknown: "UNKNOWN"
        }
    }

    init?(word: String) {
        switch word {
        case "OWNER": self = .owner
        case "ADMINISTRATOR": self = .administrator
        case "USER", "PRIVATE_USER": self = .privateUser
        case "PUBLIC_USER": self = .publicUser
        case "UNKNOWN": self = .unknown
        default: return nil
        }
    }
}

extension ParticipantPermission {
    var wireName: StaticString {
        switch self {
        case .none: "NONE"
        case .readOnly: "READ_ONLY"
        case .readWrite: "READ_WRITE"
        case .unknown: "UNKNOWN"
        }
    }

    init?(word: String) {
        switch word {
        case "NONE": self = .none
        case "READ_ONLY": self = .readOnly
        case "READ_WRITE": self = .readWrite
        case "UNKNOWN": self = .unknown
        default: return nil
        }
    }
}

extension ParticipantAcceptance {
    var wireName: StaticString {
        switch self {
        case .pending: "INVITED"
        case .accepted: "ACCEPTED"
        case .removed: "REMOVED"
        case .unknown: "UNKNOWN"
        }
    }

    init?(word: String) {
        switch word {
        case "INVITED", "PENDING": self = .pending
        case "ACCEPTED": self = .accepted
        case "REMOVED": self = .removed
        case "UNKNOWN": self = .unknown
        default: return nil
        }
    }
}
