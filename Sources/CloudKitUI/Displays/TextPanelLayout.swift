/// The text of a panel, in lines of at most 80 columns; links are never cut.
struct TextPanelLayout {
    private static let width = 80

    /// What a number of the text stands for.
    enum Entry: Hashable {
        case person(PanelContent.Person)
        case requester(PanelContent.Requester)
        case blocked(PanelContent.Requester)
        case earlier(PanelContent.Requester)
    }

    private let content: PanelContent
    /// What the numbers stand for, from 1.
    let entries: [Entry]

    init(_ content: PanelContent) {
        self.content = content
        entries =
            content.people.map { .person($0) } + content.requesters.map { .requester($0) }
            + content.blocked.map { .blocked($0) } + content.earlier.map { .earlier($0) }
    }

    /// The lines of the panel.
    var lines: [String] {
        var lines = ["", content.title, content.subtitle]
        if let access = content.accessTitle { lines.append(access + ".") }
        if let link = content.link { lines += ["", link.address] }
        if let note = content.linkNote { lines.append(note) }
        lines += entryLines
        if content.allowsAccessRequests == true { lines += ["", "People with the link can ask for access."] }
        if content.beginsWithInvitation, content.offersInvitation {
            let command = content.phase == .new ? "share" : "add"
            lines += ["", "Nobody else takes part. Invite someone: \(command) ben@example.com"]
        }
        if let message = content.message {
            lines += ["", (message.isProblem ? "Not done: " : "") + message.text]
            if let remedy = message.remedy { lines.append(remedy) }
        }
        lines += ["", "Commands: " + commandNames.joined(separator: ", ")]
        return lines.flatMap { Self.wrapped(Self.printable($0)) }
    }

    private var entryLines: [String] {
        var lines: [String] = []
        var heading = ""
        for (index, entry) in entries.enumerated() {
            if Self.heading(of: entry) != heading {
                heading = Self.heading(of: entry)
                lines += ["", heading]
            }
            lines.append(" " + Self.number(index + 1) + "  " + Self.text(of: entry))
            if case .person(let person) = entry, let link = person.oneTimeLink { lines.append("     " + link) }
        }
        return lines
    }

    private static func number(_ number: Int) -> String { (number < 10 ? " " : "") + String(number) }

    private static func heading(of entry: Entry) -> String {
        switch entry {
        case .person: "People"
        case .requester: "Ask for access"
        case .blocked: "Blocked"
        case .earlier: "From your other shares"
        }
    }

    private static func text(of entry: Entry) -> String {
        switch entry {
        case .person(let person):
            let name = person.name + (person.address.map { " <\($0)>" } ?? "")
            return ([name, person.status] + [person.permissionTitle].compactMap { $0 }).joined(separator: "  ·  ")
        case .requester(let person), .blocked(let person), .earlier(let person):
            return person.name + (person.address.map { " <\($0)>" } ?? "")
        }
    }

    /// The commands that are offered now, as help lists them.
    var commands: [(name: String, form: String, meaning: String)] {
        var commands: [(name: String, form: String, meaning: String)] = []
        func offer(_ form: String, _ meaning: String, if isOffered: Bool = true) {
            guard isOffered, let name = form.split(separator: " ").first else { return }
            commands.append((String(name), form, meaning))
        }
        let words = content.permissions.map { $0.name == PanelPermission.readOnly.rawValue ? "view" : "change" }
        let permission = words.count > 1 ? " [\(words.joined(separator: "|"))]" : ""
        offer("share [ADDRESS…]\(permission)", "share this with people", if: content.phase == .new)
        let access = content.accessChoices.map { TextCommand.word(forAccess: $0.name) }.joined(separator: "|")
        offer("access \(access)", "choose who may join", if: content.accessChoices.count > 1)
        let isShared = content.phase == .shared
        offer("add ADDRESS…\(permission)", "invite people", if: isShared && content.offersInvitation)
        offer(
            "add NUMBER\(permission)", "invite someone from your other shares", if: !content.earlier.isEmpty && isShared
        )
        offer(
            "allow NUMBER view|change", "set what someone may do", if: content.people.contains { $0.canSetPermission })
        offer(
            "inviting NUMBER on|off", "let someone invite others", if: content.people.contains { $0.isInviting != nil })
        offer("remove NUMBER", "end someone's access", if: content.people.contains { $0.canRemove })
        offer("onetime\(permission)", "make a link for one person", if: content.offersOneTimeLinks)
        offer("requests on|off", "let people ask for access", if: content.allowsAccessRequests != nil)
        offer("approve NUMBER\(permission)", "let someone in who asks", if: !content.requesters.isEmpty)
        offer("deny NUMBER", "send someone away who asks", if: !content.requesters.isEmpty)
        offer("block NUMBER", "send someone away for good", if: !content.requesters.isEmpty)
        offer("unblock NUMBER", "let someone ask again", if: !content.blocked.isEmpty)
        offer("qr", "show the link as a QR code", if: content.link?.side != nil)
        offer("stop", "stop sharing", if: content.ending?.name == "stop")
        offer("leave", "leave this share", if: content.ending?.name == "leave")
        offer("refresh", "look for changes of others", if: isShared)
        offer("help", "explain the commands")
        offer("done", "close the panel")
        return commands
    }

    private var commandNames: [String] {
        commands.map(\.name).reduce(into: []) { names, name in
            if !names.contains(name) { names.append(name) }
        }
    }

    /// The lines that explain the commands.
    var help: [String] {
        [""] + commands.map { " " + $0.form.padded(to: 34) + " " + $0.meaning }
    }

    /// Names of others must not control the terminal.
    static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse: "?"
                    default: scalar
                    }
                }))
    }

    private static func wrapped(_ line: String) -> [String] {
        guard line.count > width, line.contains(" ") else { return [line] }
        let indent = String(repeating: " ", count: line.prefix { $0 == " " }.count)
        var lines: [String] = []
        var current = ""
        for word in line.split(separator: " ") {
            if !current.isEmpty, current.count + 1 + word.count > width {
                lines.append(current)
                current = ""
            }
            current += current.isEmpty ? (lines.isEmpty ? indent : indent + "  ") + word : " " + word
        }
        return lines + [current]
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
