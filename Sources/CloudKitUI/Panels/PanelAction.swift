/// What a person does in a panel.
enum PanelAction: Hashable, Sendable {
    /// Looks for what others have changed.
    case refresh
    /// Begins to share, with the people at these addresses (B-UI-01).
    case start(PanelAccess, addresses: String, PanelPermission)
    case invite(addresses: String, PanelPermission)
    case inviteEarlier(person: String, PanelPermission)
    case setPermission(person: String, PanelPermission)
    /// Lets a participant invite others, or not (B-PRT-07).
    case setInviting(person: String, Bool)
    case remove(person: String)
    case setAccess(PanelAccess)
    case setAccessRequests(Bool)
    case approve(person: String, PanelPermission)
    case deny(person: String)
    case block(person: String)
    case unblock(person: String)
    case addOneTimeLink(PanelPermission)
    case stop
    case leave
    /// Closes the panel.
    case close
}

extension PanelAction {
    /// An action as the page sends it.
    struct Form: Codable, Hashable, Sendable {
        var action: String
        var person: String?
        var addresses: String?
        var permission: String?
        var access: String?
        var isOn: Bool?
    }

    /// - Throws: `PanelProblem` for what is no action.
    init(_ form: Form) throws(PanelProblem) {
        func permission() throws(PanelProblem) -> PanelPermission {
            guard let name = form.permission, let value = PanelPermission(rawValue: name) else { throw .malformed }
            return value
        }
        func value<Value>(_ value: Value?) throws(PanelProblem) -> Value {
            guard let value else { throw .malformed }
            return value
        }
        let access = form.access.flatMap { PanelAccess(name: $0) }
        switch form.action {
        case "refresh": self = .refresh
        case "start": self = .start(try value(access), addresses: form.addresses ?? "", try permission())
        case "invite": self = .invite(addresses: try value(form.addresses), try permission())
        case "inviteEarlier": self = .inviteEarlier(person: try value(form.person), try permission())
        case "setPermission": self = .setPermission(person: try value(form.person), try permission())
        case "setInviting": self = .setInviting(person: try value(form.person), try value(form.isOn))
        case "remove": self = .remove(person: try value(form.person))
        case "setAccess": self = .setAccess(try value(access))
        case "setAccessRequests": self = .setAccessRequests(try value(form.isOn))
        case "approve": self = .approve(person: try value(form.person), try permission())
        case "deny": self = .deny(person: try value(form.person))
        case "block": self = .block(person: try value(form.person))
        case "unblock": self = .unblock(person: try value(form.person))
        case "addOneTimeLink": self = .addOneTimeLink(try permission())
        case "stop": self = .stop
        case "leave": self = .leave
        case "close": self = .close
        default: throw .malformed
        }
    }
}
