import Foundation

/// The association of links to shares with `welkin open` on a user's desktop.
///
/// Links with a cloud's own `https` address belong to the browser; a desktop can give a scheme to a program, so the
/// page of a share has a link that begins with `welkin:`. Two of the user's files name the program that opens those: a
/// desktop entry, and the list of preferences.
package struct LinkHandler: Sendable {
    /// `$XDG_DATA_HOME/applications/org.welkin.open.desktop`.
    package let entryFile: String
    /// `$XDG_CONFIG_HOME/mimeapps.list`.
    package let associationsFile: String

    /// A list of preferences beyond this is not read.
    private static let bytesMax = 1 << 20

    /// Creates a handler from the process environment.
    package init(variables: [String: String]) {
        let home = DeviceConfiguration.homeFolder(variables)
        entryFile =
            (variables.setting("XDG_DATA_HOME") ?? home + "/.local/share") + "/applications/" + DesktopEntry.fileName
        associationsFile = (variables.setting("XDG_CONFIG_HOME") ?? home + "/.config") + "/mimeapps.list"
    }

    /// The program that opens links: this handler, another program, or none.
    package enum State: Hashable, Sendable {
        case installed(entry: String)
        case missing
        /// Another program is preferred.
        case other(String)
    }

    /// - Throws: `FileFailure`.
    package func state() throws -> State {
        let preferred = try associations().applications(for: DesktopEntry.mimeType).first
        if let preferred, preferred != DesktopEntry.fileName { return .other(preferred) }
        guard preferred != nil, let entry = try PrivateFile.read(entryFile) else { return .missing }
        return .installed(entry: String(decoding: entry, as: UTF8.self))
    }

    /// Writes both files; doing it again replaces them.
    ///
    /// - Parameter command: See `DesktopEntry`.
    /// - Throws: `FileFailure`; earlier files stay then.
    package func install(command: [String]) throws {
        var associations = try associations()
        associations.prefer(DesktopEntry.fileName, for: DesktopEntry.mimeType)
        try Self.write(DesktopEntry(command: command).text, to: entryFile)
        try Self.write(associations.text, to: associationsFile)
    }

    /// Takes back what `install` wrote; other preferences stay.
    ///
    /// - Returns: The files that were changed or removed.
    /// - Throws: `FileFailure`.
    package func remove() throws -> [String] {
        var changed: [String] = []
        let held = try associations()
        var associations = held
        associations.remove(DesktopEntry.fileName, for: DesktopEntry.mimeType)
        if associations != held {
            if associations.text.isEmpty {
                try PrivateFile.remove(associationsFile)
            } else {
                try Self.write(associations.text, to: associationsFile)
            }
            changed.append(associationsFile)
        }
        if FileStamp(path: entryFile) != nil {
            try PrivateFile.remove(entryFile)
            changed.append(entryFile)
        }
        return changed
    }

    private func associations() throws(FileFailure) -> MimeAssociations {
        if let stamp = FileStamp(path: associationsFile), stamp.size > Self.bytesMax {
            throw FileFailure("read \(associationsFile)", EFBIG)
        }
        return MimeAssociations(String(decoding: try PrivateFile.read(associationsFile) ?? [], as: UTF8.self))
    }

    private static func write(_ text: String, to path: String) throws(FileFailure) {
        // A list that is kept elsewhere and linked to stays so.
        let path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        if let slash = path.lastIndex(of: "/") { try PrivateFile.makeFolder(String(path[..<slash])) }
        try PrivateFile.replace(path, with: Array(text.utf8))
    }
}
