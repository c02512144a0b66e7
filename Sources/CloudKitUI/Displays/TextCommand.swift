/// What a line of the text panel asks for.
enum TextCommand: Hashable {
    /// An action; with a question, once that was answered.
    case action(PanelAction, question: String?)
    case help
    case code
    case nothing

    /// - Throws: `PanelProblem` for what is no command, or not one that the panel offers now.
    static func parse(_ line: String, _ content: PanelContent) throws(PanelProblem) -> TextCommand {
        var words = line.split(separator: " ").map(String.init)
        guard let name = words.first?.lowercased() else { return .nothing }
        words.removeFirst()
        let layout = TextPanelLayout(content)
        guard layout.commands.contains(where: { $0.name == name }) else {
            throw PanelProblem(
                reason:
                    "There is no command \u{201C}\(TextPanelLayout.printable(String(name.prefix(40))))\u{201D} here.",
                remedy: "Type help to see the commands.")
        }
        return try TextCommand(name, Arguments(words, layout), content)
    }

    private init(_ name: String, _ arguments: Arguments, _ content: PanelContent) throws(PanelProblem) {
        switch name {
        case "share":
            let access = content.access.flatMap { PanelAccess(name: $0) } ?? .invited
            let permission = try arguments.permission(content)
            self = .action(.start(access, addresses: arguments.text, permission), question: nil)
        case "access":
            guard let word = arguments.words.first, let access = Self.access(word, content) else {
                throw Arguments.wrong(name, content)
            }
            self = .action(.setAccess(access), question: Self.question(access, content))
        case "add":
            let permission = try arguments.permission(content)
            if case .earlier(let person)? = arguments.entry {
                self = .action(.inviteEarlier(person: person.id, permission), question: nil)
            } else {
                self = .action(.invite(addresses: arguments.text, permission), question: nil)
            }
        case "allow":
            let person = try arguments.person(name, content)
            guard arguments.words.count == 2 else { throw Arguments.wrong(name, content) }
            self = .action(.setPermission(person: person.id, try arguments.permission(content)), question: nil)
        case "inviting":
            let person = try arguments.person(name, content)
            self = .action(.setInviting(person: person.id, try arguments.isOn(name, content)), question: nil)
        case "remove":
            let person = try arguments.person(name, content)
            self = .action(.remove(person: person.id), question: "Remove \(person.name)?")
        case "onetime": self = .action(.addOneTimeLink(try arguments.permission(content)), question: nil)
        case "requests": self = .action(.setAccessRequests(try arguments.isOn(name, content)), question: nil)
        case "approve":
            let person = try arguments.requester(name, content)
            self = .action(.approve(person: person.id, try arguments.permission(content)), question: nil)
        case "deny": self = .action(.deny(person: try arguments.requester(name, content).id), question: nil)
        case "block":
            let person = try arguments.requester(name, content)
            self = .action(.block(person: person.id), question: "Block \(person.name)?")
        case "unblock":
            guard case .blocked(let person)? = arguments.entry else { throw Arguments.wrong(name, content) }
            self = .action(.unblock(person: person.id), question: nil)
        case "stop": self = .action(.stop, question: content.endingQuestion)
        case "leave": self = .action(.leave, question: content.endingQuestion)
        case "refresh": self = .action(.refresh, question: nil)
        case "qr": self = .code
        case "help": self = .help
        default: self = .action(.close, question: nil)
        }
    }

    /// The word of a choice of access.
    static func word(forAccess name: String) -> String {
        switch name {
        case PanelPermission.readOnly.rawValue: "anyone-view"
        case PanelPermission.readWrite.rawValue: "anyone-change"
        default: "invited"
        }
    }

    private static func access(_ word: String, _ content: PanelContent) -> PanelAccess? {
        content.accessChoices.first { Self.word(forAccess: $0.name) == word }.flatMap { PanelAccess(name: $0.name) }
    }

    /// People lose access by some choices (B-PRT-04).
    private static func question(_ access: PanelAccess, _ content: PanelContent) -> String? {
        switch (content.access.flatMap { PanelAccess(name: $0) }, access) {
        case (.anyone, .invited): "Everyone who joined through the link loses access. Go on?"
        case (.invited, .anyone): "Invitations that nobody has accepted end. Go on?"
        default: nil
        }
    }

    /// The words behind a command.
    private struct Arguments {
        let words: [String]
        private let layout: TextPanelLayout
        private static let permissions = ["view": PanelPermission.readOnly, "change": .readWrite]

        init(_ words: [String], _ layout: TextPanelLayout) {
            self.words = words
            self.layout = layout
        }

        /// The words that are no permission.
        var text: String {
            var words = words
            if let last = words.last, Self.permissions[last] != nil { words.removeLast() }
            return words.joined(separator: ",")
        }

        /// What the first word, a number, stands for.
        var entry: TextPanelLayout.Entry? {
            guard let number = words.first.flatMap({ Int($0) }), layout.entries.indices.contains(number - 1) else {
                return nil
            }
            return layout.entries[number - 1]
        }

        func permission(_ content: PanelContent) throws(PanelProblem) -> PanelPermission {
            let usual = content.permission.flatMap { PanelPermission(rawValue: $0) } ?? .readOnly
            guard let last = words.last, let permission = Self.permissions[last] else { return usual }
            guard content.permissions.contains(where: { $0.name == permission.rawValue }) else { throw .notOffered }
            return permission
        }

        func person(_ name: String, _ content: PanelContent) throws(PanelProblem) -> PanelContent.Person {
            guard case .person(let person)? = entry else { throw Self.wrong(name, content) }
            return person
        }

        func requester(_ name: String, _ content: PanelContent) throws(PanelProblem) -> PanelContent.Requester {
            guard case .requester(let person)? = entry else { throw Self.wrong(name, content) }
            return person
        }

        func isOn(_ name: String, _ content: PanelContent) throws(PanelProblem) -> Bool {
            switch words.last {
            case "on": return true
            case "off": return false
            default: throw Self.wrong(name, content)
            }
        }

        static func wrong(_ name: String, _ content: PanelContent) -> PanelProblem {
            let forms = TextPanelLayout(content).commands.filter { $0.name == name }.map(\.form)
            return PanelProblem(
                reason: "The command was not understood.",
                remedy: "Type: \(forms.joined(separator: ", or: ")). Numbers are those of the list.")
        }
    }
}
