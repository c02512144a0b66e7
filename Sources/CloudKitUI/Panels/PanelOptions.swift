import CloudKit

/// What a panel lets people choose (B-UI-03).
struct PanelOptions: Hashable, Sendable {
    /// Whether everyone with the link may be let in.
    let allowsPublic: Bool
    /// Whether only invited people may be let in.
    let allowsPrivate: Bool
    /// The permissions that can be given, the weaker one first; never empty.
    let permissions: [PanelPermission]
    /// Whether the panel offers to take requests for access.
    let offersAccessRequests: Bool
    /// Whether the panel offers to let participants invite others.
    let offersInviting: Bool

    /// A group of which nothing is allowed is one of which everything is.
    init(
        allowsPublic: Bool = true, allowsPrivate: Bool = true, allowsReadOnly: Bool = true,
        allowsReadWrite: Bool = true, offersAccessRequests: Bool = true, offersInviting: Bool = true
    ) {
        let isAccessOpen = allowsPublic == allowsPrivate
        self.allowsPublic = isAccessOpen || allowsPublic
        self.allowsPrivate = isAccessOpen || allowsPrivate
        let isPermissionOpen = allowsReadOnly == allowsReadWrite
        var permissions: [PanelPermission] = []
        if isPermissionOpen || allowsReadOnly { permissions.append(.readOnly) }
        if isPermissionOpen || allowsReadWrite { permissions.append(.readWrite) }
        self.permissions = permissions
        self.offersAccessRequests = offersAccessRequests
        self.offersInviting = offersInviting
    }

    /// The permission that is chosen until people choose another one: the strongest, as in Apple's panel.
    var permission: PanelPermission { permissions.last ?? .readOnly }

    /// Returns the permission if it can be given, else the one that can.
    func allowed(_ permission: PanelPermission) -> PanelPermission {
        permissions.contains(permission) ? permission : self.permission
    }

    /// The choices for the link, in the order of the panel; one choice is none, and is not shown.
    var access: [PanelAccess] {
        (allowsPrivate ? [.invited] : []) + (allowsPublic ? permissions.map { PanelAccess.anyone($0) } : [])
    }
}

/// A permission that a panel gives.
enum PanelPermission: String, Codable, Hashable, Sendable, CaseIterable {
    case readOnly, readWrite

    var participantPermission: CKShare.ParticipantPermission { self == .readOnly ? .readOnly : .readWrite }

    init?(_ permission: CKShare.ParticipantPermission) {
        switch permission {
        case .readOnly: self = .readOnly
        case .readWrite: self = .readWrite
        default: return nil
        }
    }

    /// The name that people read.
    var title: String { self == .readOnly ? "View only" : "Can make changes" }
}

/// Who may join a share.
enum PanelAccess: Hashable, Sendable {
    case invited
    case anyone(PanelPermission)

    init(_ publicPermission: CKShare.ParticipantPermission) {
        self = PanelPermission(publicPermission).map { .anyone($0) } ?? .invited
    }

    var publicPermission: CKShare.ParticipantPermission {
        switch self {
        case .invited: .none
        case .anyone(let permission): permission.participantPermission
        }
    }

    /// The name in requests of the page.
    var name: String {
        switch self {
        case .invited: "invited"
        case .anyone(let permission): permission.rawValue
        }
    }

    init?(name: String) {
        if name == Self.invited.name {
            self = .invited
        } else {
            guard let permission = PanelPermission(rawValue: name) else { return nil }
            self = .anyone(permission)
        }
    }

    /// The name that people read.
    var title: String {
        switch self {
        case .invited: "Only invited people"
        case .anyone(.readOnly): "Anyone with the link can view"
        case .anyone(.readWrite): "Anyone with the link can make changes"
        }
    }
}
