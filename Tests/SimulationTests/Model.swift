import AccessTable
import CloudKitModel

/// A zone of an owner.
struct Place: Hashable, Comparable, CustomStringConvertible {
    var owner: Int
    var zone: String

    var description: String { "\(SimulatedUsers.names[owner])/\(zone)" }

    static func < (left: Place, right: Place) -> Bool { (left.owner, left.zone) < (right.owner, right.zone) }
}

/// The content of a record, as a reader sees it.
struct Content: Hashable, CustomStringConvertible {
    var parent: String?
    /// The share whose root it is.
    var share: String?
    /// Plain fields as JSON, encrypted ones with their decrypted values.
    var fields: [String: String] = [:]

    var description: String {
        let fields = fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        return "\(parent.map { $0 + "/" } ?? "")[\(fields)]\(share.map { " root of " + $0 } ?? "")"
    }
}

/// A simple model of the cloud's expected content and access.
///
/// The permissions are read from `docs/access.md`.
struct Model {
    struct Slot: Hashable {
        var isAdministrator = false
        var isPublic = false
        var permission: ParticipantPermission
        var hasAccepted = false
        /// Whether the address belongs to a known account.
        var isBound = true
    }

    struct Tree: Hashable {
        /// The root record; nil for the whole zone.
        var root: String?
        var guid: String
        var openTo = ParticipantPermission.none
        /// The participants by user.
        var slots: [Int: Slot] = [:]
        /// The open slots of one-time links, by participant.
        var openSlots: [String: ParticipantPermission] = [:]
        var allowsRequests = false
        var requesters: Set<Int> = []
        var blocked: Set<Int> = []
    }

    enum State: Hashable { case absent, live, purged, reset }

    struct Zone {
        var state = State.absent
        /// Counts the zones of this name.
        var incarnation = 0
        var keyEpoch: UInt32 = 0
        /// The version that first statements have to be above, because there were earlier zones of this name.
        var statementFloor: UInt64 = 0
        /// The highest version of statements.
        var newestStatement: UInt64 = 0
        var items: [String: Content] = [:]
        /// The keys of the records at their last save.
        var protections: [String: Protection] = [:]
        /// The creation dates of the records, in milliseconds since 1970.
        var creations: [String: Int64] = [:]
        var trees: [String: Tree] = [:]
        /// The key epochs of the last deletions; new records of the same names have the same keys in that epoch.
        var deletions: [String: UInt32] = [:]

        /// Notes the keys of a record at a save of it.
        mutating func note(_ protection: Protection?, of name: String) {
            protections[name] = protection
            guard let statement = protection?.statement, !statement.isEmpty else { return }
            newestStatement = max(newestStatement, StatementForm.recordVersion(of: statement))
        }

        /// Removes all content.
        mutating func end(_ state: State) {
            self.state = state
            items = [:]
            protections = [:]
            creations = [:]
            trees = [:]
        }
    }

    private let words: [[String]: String]
    var zones: [Place: Zone] = [:]

    init(_ table: AccessTable) {
        var words: [[String]: String] = [:]
        for cell in table.cells { words[[cell.database, cell.object, cell.verb, cell.role.rawValue]] = cell.word }
        self.words = words
    }

    subscript(place: Place) -> Zone {
        get { zones[place] ?? Zone() }
        set { zones[place] = newValue }
    }

    /// Returns the table's entry for a verb in the shared database.
    func word(for verb: String, object: String, role: AccessTable.Role) -> String {
        words[["shared", object, verb, role.rawValue]] ?? "no such cell: \(object), \(verb), \(role.rawValue)"
    }
}

// MARK: Trees

extension Model.Zone {
    /// Returns the share of a record: that of its nearest root, or the zone-wide one.
    func tree(of name: String) -> String? {
        if trees[name] != nil { return name }
        if let whole = trees.first(where: { $0.value.root == nil }) { return whole.key }
        var current: String? = name
        while let step = current {
            if let share = items[step]?.share { return share }
            current = items[step]?.parent
        }
        return nil
    }

    func children(of name: String) -> [String] { items.filter { $0.value.parent == name }.map(\.key) }

    /// Returns a record and its descendants.
    func subtree(of name: String) -> [String] { [name] + children(of: name).flatMap(subtree) }

    func isRoot(_ name: String) -> Bool { items[name]?.share != nil }

    var isSharedWhole: Bool { trees.values.contains { $0.root == nil } }
}

// MARK: Links

extension Model.Tree {
    /// The access that a link grants to a user.
    enum Verdict: Hashable {
        case owner, hide, join, mayNeedVerification
        case participant(Model.Slot)
        /// The user's own slot, by address.
        case slot
        case openSlot(String, ParticipantPermission)
    }

    /// - Parameter openSlot: The participant of the one-time link; nil for the public link.
    func verdict(on person: Int, ownedBy owner: Int, openSlot id: String?) -> Verdict {
        if person == owner { return .owner }
        if blocked.contains(person) { return .hide }
        if let slot = slots[person], slot.isBound { return .participant(slot) }
        if let id { return openSlots[id].map { .openSlot(id, $0) } ?? .hide }
        if slots[person] != nil { return .slot }
        if openTo != .none { return .join }
        return slots.values.contains { !$0.isBound } ? .mayNeedVerification : .hide
    }

    /// - Returns: The failure; nil for success.
    mutating func accept(_ person: Int, _ verdict: Verdict) -> RequestFailure.Code? {
        switch verdict {
        case .owner: return nil
        case .participant(let slot) where slot.hasAccepted: return nil
        case .participant, .slot:
            slots[person]?.hasAccepted = true
            slots[person]?.isBound = true
        case .openSlot(let id, let permission):
            openSlots[id] = nil
            slots[person] = Model.Slot(permission: permission, hasAccepted: true)
        case .join: slots[person] = Model.Slot(isPublic: true, permission: openTo, hasAccepted: true)
        case .mayNeedVerification: return .participantMayNeedVerification
        case .hide: return .accessDenied
        }
        requesters.remove(person)
        return nil
    }

    /// - Returns: The failure that the requester gets, or nil.
    mutating func ask(_ person: Int, _ verdict: Verdict) -> RequestFailure.Code? {
        switch verdict {
        case .participant(let slot): return slot.hasAccepted ? nil : .participantAlreadyInvited
        case .slot, .openSlot: return .participantAlreadyInvited
        case .owner: return nil
        case .join, .mayNeedVerification, .hide:
            if allowsRequests, !blocked.contains(person) { requesters.insert(person) }
            return nil
        }
    }
}

// MARK: Access

extension Model.Tree {
    /// Returns the role of a user in the table.
    func role(of person: Int) -> AccessTable.Role {
        guard let slot = slots[person] else { return .stranger }
        if !slot.hasAccepted { return .pending }
        if slot.isAdministrator { return .administrator }
        switch (slot.isPublic ? openTo : slot.permission, slot.isPublic) {
        case (.readWrite, _): return .readWrite
        case (.readOnly, true): return .public
        case (.readOnly, false): return .readOnly
        default: return .stranger
        }
    }

    func isMember(_ person: Int) -> Bool {
        switch role(of: person) {
        case .administrator, .readWrite, .readOnly, .public: true
        default: false
        }
    }
}

extension Model {
    /// Returns a user's role in a zone: that in any of its shares.
    func role(of person: Int, in place: Place) -> AccessTable.Role {
        if place.owner == person { return .owner }
        let trees = self[place].trees.sorted { $0.key < $1.key }.map(\.value)
        return (trees.first { $0.isMember(person) } ?? trees.first)?.role(of: person) ?? .stranger
    }

    func isMember(_ person: Int, of place: Place) -> Bool { self[place].trees.values.contains { $0.isMember(person) } }

    /// Returns the table's entry for a participant's operation on an existing record.
    func word(_ verb: String, on name: String, by person: Int, in place: Place) -> String {
        let zone = self[place]
        guard let tree = zone.tree(of: name).flatMap({ zone.trees[$0] }), tree.isMember(person) else {
            return word(
                for: verb == "move out" ? "change" : verb, object: "outside", role: role(of: person, in: place))
        }
        let role = tree.role(of: person)
        if zone.trees[name] != nil { return word(for: verb, object: "share", role: role) }
        let hasOwnRow = zone.isRoot(name) && (verb == "change" || verb == "delete")
        return word(for: verb, object: hasOwnRow ? "root" : "in tree", role: role)
    }

    /// Returns the visible records of a zone, and its shares without content.
    func visible(to person: Int, in place: Place) -> [String: Content] {
        let zone = self[place]
        var visible: [String: Content] = [:]
        func isSeen(_ name: String) -> Bool {
            if person == place.owner { return true }
            return word("look up", on: name, by: person, in: place) == "yes"
        }
        for (name, item) in zone.items where isSeen(name) { visible[name] = item }
        for name in zone.trees.keys where isSeen(name) { visible[name] = Content() }
        return visible
    }
}
