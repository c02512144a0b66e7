/// The file by which a Linux desktop knows the program that opens links to shares (Desktop Entry Specification 1.5).
package struct DesktopEntry: Hashable, Sendable {
    /// The program's path, and its arguments before the link.
    package var command: [String]

    /// Creates a value with the given properties.
    package init(command: [String]) { self.command = command }

    /// The name of the file; also the name by which associations refer to it.
    package static let fileName = "org.welkin.open.desktop"
    /// The desktop's type for links of the scheme.
    package static let mimeType = "x-scheme-handler/" + ShareAddress.scheme

    /// The file's contents.
    package var text: String {
        """
        [Desktop Entry]
        Type=Application
        Version=1.5
        Name=Welkin
        Comment=Open a link to something that is shared with you
        Exec=\(command.map(Self.quoted).joined(separator: " ")) %u
        Terminal=true
        NoDisplay=true
        MimeType=\(Self.mimeType);

        """
    }

    /// One argument of `Exec`: in double quotes, with what has a meaning there escaped, and that again as a value of the file.
    static func quoted(_ argument: String) -> String {
        var text = ""
        for character in argument {
            switch character {
            case "\"", "`", "$": text += "\\\\\(character)"
            case "\\": text += "\\\\\\\\"
            case "%": text += "%%"
            case "\n": text += "\\n"
            default: text.append(character)
            }
        }
        return "\"\(text)\""
    }
}
