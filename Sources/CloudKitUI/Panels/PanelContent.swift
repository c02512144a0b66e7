import Foundation

/// What a panel shows, the same for a page and for a terminal.
struct PanelContent: Codable, Hashable, Sendable {
    enum Phase: String, Codable, Hashable, Sendable {
        /// Nothing is shared yet (B-UI-01).
        case new
        case shared
        /// The share was stopped, left or lost.
        case ended
    }

    struct Choice: Codable, Hashable, Sendable {
        var name: String
        var title: String
    }

    struct Person: Codable, Hashable, Sendable {
        var id: String
        var name: String
        var address: String?
        var status: String
        var permission: String?
        var permissionTitle: String?
        var canSetPermission: Bool
        var canRemove: Bool
        /// Whether the person may invite others; nil where that is not offered.
        var isInviting: Bool?
        var oneTimeLink: String?
    }

    struct Requester: Codable, Hashable, Sendable {
        var id: String
        var name: String
        var address: String?
    }

    struct Link: Codable, Hashable, Sendable {
        var address: String
        /// The modules of one side of the QR code, with its margin; nil where the address is too long for one.
        var side: Int?
        /// The dark modules as the path of an SVG.
        var path: String?
    }

    struct Message: Codable, Hashable, Sendable {
        var isProblem: Bool
        var text: String
        var remedy: String?
    }

    /// Rises with each change, so that a page draws only what is new.
    var version = 0
    var phase: Phase
    var title: String
    var subtitle: String
    /// A URL with the data of an image.
    var thumbnail: String?
    var people: [Person] = []
    var access: String?
    var accessTitle: String?
    /// Empty where access cannot be chosen.
    var accessChoices: [Choice] = []
    /// Empty where no permission can be given.
    var permissions: [Choice] = []
    var permission: String?
    var link: Link?
    var linkNote: String?
    var offersInvitation = false
    var offersOneTimeLinks = false
    /// nil where requests cannot be allowed or forbidden.
    var allowsAccessRequests: Bool?
    var requesters: [Requester] = []
    var blocked: [Requester] = []
    /// People of the user's other shares.
    var earlier: [Requester] = []
    /// `stop` or `leave`.
    var ending: Choice?
    var endingQuestion: String?
    /// Whether the panel opens with the invitation, because nobody else takes part (B-UI-02).
    var beginsWithInvitation = false
    var message: Message?
}

extension PanelContent {
    /// Returns the panel of something that is not shared yet.
    static func new(_ introduction: PanelIntroduction, options: PanelOptions) -> PanelContent {
        var content = PanelContent(
            phase: .new, title: introduction.shownTitle, subtitle: "Not shared yet",
            thumbnail: introduction.thumbnail.flatMap { Self.dataURL(of: $0) })
        content.access = options.access.first?.name
        content.accessTitle = options.access.first?.title
        content.accessChoices = Self.choices(options.access)
        content.permissions = options.permissions.map { Choice(name: $0.rawValue, title: $0.title) }
        content.permission = options.permission.rawValue
        content.offersInvitation = options.allowsPrivate
        content.beginsWithInvitation = true
        return content
    }

    /// Returns the panel of a share, with what its viewer may do (B-UI-02, B-UI-03).
    static func shared(
        _ item: SharedItem, introduction: PanelIntroduction, options: PanelOptions
    ) -> PanelContent {
        let manages = item.part.managesPeople
        // Participants are edited only while the link alone lets nobody in (B-PRT-03).
        let edits = manages && item.access == .invited
        var content = PanelContent(
            phase: .shared, title: item.title ?? introduction.shownTitle, subtitle: Self.subtitle(item),
            thumbnail: item.thumbnail.flatMap { Self.dataURL(of: $0) })
        content.people = item.people.map { Self.person($0, edits: edits, item: item, options: options) }
        content.access = item.access.name
        content.accessTitle = item.access.title
        if manages { content.accessChoices = Self.accessChoices(item.access, options) }
        if manages || item.access != .invited, let address = item.link { content.link = Link(address: address) }
        content.linkNote = Self.linkNote(item)
        if manages { content.addManagement(item, edits: edits, options: options) }
        content.ending =
            item.part == .owner
            ? Choice(name: "stop", title: "Stop sharing") : Choice(name: "leave", title: "Leave this share")
        content.endingQuestion =
            item.part == .owner
            ? "Stop sharing? Nobody else can open this any more; what is shared stays yours."
            : "Leave? You cannot open this any more, unless you are let in again."
        content.beginsWithInvitation = edits && item.people.count == 1
        return content
    }

    /// Returns the panel after its share has ended.
    static func ended(title: String, message: Message) -> PanelContent {
        var content = PanelContent(phase: .ended, title: title, subtitle: "Not shared")
        content.message = message
        return content
    }

    private mutating func addManagement(_ item: SharedItem, edits: Bool, options: PanelOptions) {
        permissions = options.permissions.map { Choice(name: $0.rawValue, title: $0.title) }
        permission = options.permission.rawValue
        offersInvitation = edits
        offersOneTimeLinks = edits
        if options.offersAccessRequests || item.allowsAccessRequests {
            allowsAccessRequests = item.allowsAccessRequests
        }
        requesters = item.requesters.map { Requester(id: $0.id, name: $0.shownName, address: $0.address) }
        blocked = item.blocked.map { Requester(id: $0.id, name: $0.shownName, address: $0.address) }
    }

    /// What is set stays among the choices also where the app would not offer it, so that the panel never shows another value.
    private static func accessChoices(_ access: PanelAccess, _ options: PanelOptions) -> [Choice] {
        let choices = options.access.contains(access) ? options.access : [access] + options.access
        return choices.count > 1 ? Self.choices(choices) : []
    }

    private static func choices(_ access: [PanelAccess]) -> [Choice] {
        access.map { Choice(name: $0.name, title: $0.title) }
    }

    private static func person(
        _ person: SharedItem.Person, edits: Bool, item: SharedItem, options: PanelOptions
    ) -> Person {
        let isEditable = edits && person.role != .owner && person.role != .publicMember && !person.isYou
        let showsAddress = person.address != nil && person.shownName != person.address
        let mayInvite = isEditable && item.part == .owner && options.offersInviting && person.oneTimeLink == nil
        return Person(
            id: person.id, name: person.shownName, address: showsAddress ? person.address : nil,
            status: status(of: person), permission: person.permission?.rawValue,
            permissionTitle: person.role == .owner ? nil : person.permission?.title,
            canSetPermission: isEditable && options.permissions.count > 1, canRemove: isEditable,
            isInviting: mayInvite ? person.role == .administrator : nil,
            oneTimeLink: edits ? person.oneTimeLink : nil)
    }

    private static func status(of person: SharedItem.Person) -> String {
        switch person.role {
        case .owner: "Owner"
        case _ where person.oneTimeLink != nil: "For whoever opens it first"
        case _ where !person.isAccepted: person.hasAccount ? "Invited" : "Invited, without an account so far"
        case .administrator: "Takes part, may invite"
        case .publicMember: "Joined through the link"
        case .member: "Takes part"
        }
    }

    private static func subtitle(_ item: SharedItem) -> String {
        item.otherOwner.map { "Shared by \($0.shownName)" } ?? "Shared by you"
    }

    private static func linkNote(_ item: SharedItem) -> String? {
        switch (item.access, item.part.managesPeople) {
        case (.invited, true): "Only people in the list can open this link. Send it to them."
        case (.invited, false): nil
        case (.anyone, _): "Everyone who has this link can open it. Send the whole link."
        }
    }

    /// nil for what is no image that browsers show.
    private static func dataURL(of data: Data) -> String? {
        guard data.count <= 1_000_000 else { return nil }
        let starts: [(String, [UInt8])] = [
            ("png", [0x89, 0x50, 0x4E, 0x47]), ("jpeg", [0xFF, 0xD8, 0xFF]), ("gif", [0x47, 0x49, 0x46, 0x38]),
        ]
        guard let type = starts.first(where: { data.starts(with: $0.1) })?.0 else { return nil }
        return "data:image/\(type);base64," + data.base64EncodedString()
    }
}

/// What an app says about the thing that is shared (B-UI-04).
struct PanelIntroduction: Hashable, Sendable {
    var title: String?
    var type: String?
    var thumbnail: Data?

    var shownTitle: String {
        guard let title, !title.isEmpty else { return "Untitled" }
        return title
    }
}
