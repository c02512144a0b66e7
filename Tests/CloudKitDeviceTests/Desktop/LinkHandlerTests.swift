import Testing

@testable import CloudKitDevice

/// The files by which a desktop knows who opens links to shares.
@Suite(.timeLimit(.minutes(20))) struct LinkHandlerTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private var handler: LinkHandler {
        LinkHandler(variables: ["XDG_DATA_HOME": folder.path + "/data", "XDG_CONFIG_HOME": folder.path])
    }

    private func associations() throws -> String {
        String(decoding: try PrivateFile.read(folder.path + "/mimeapps.list") ?? [], as: UTF8.self)
    }

    @Test func `a desktop entry quotes the program's path as the specification says`() {
        #expect(DesktopEntry.quoted("/usr/bin/welkin") == #""/usr/bin/welkin""#)
        #expect(DesktopEntry.quoted(#"/a b/$x/100%/"q"/\n"#) == #""/a b/\\$x/100%%/\\"q\\"/\\\\n""#)
        let lines = DesktopEntry(command: ["/opt/my tools/welkin", "open", "--hold"]).text.split(separator: "\n")
        #expect(lines.first == "[Desktop Entry]")
        #expect(lines.contains(#"Exec="/opt/my tools/welkin" "open" "--hold" %u"#))
        #expect(lines.contains("MimeType=x-scheme-handler/welkin;"))
        #expect(lines.contains("Terminal=true"))
    }

    @Test func `install, show and remove leave nothing behind`() throws {
        #expect(try handler.state() == .missing)
        #expect(try handler.remove().isEmpty)
        try handler.install(command: ["/bin/welkin", "open"])
        #expect(try handler.state() == .installed(entry: DesktopEntry(command: ["/bin/welkin", "open"]).text))
        #expect(handler.entryFile == folder.path + "/data/applications/org.welkin.open.desktop")
        #expect(try associations() == "[Default Applications]\nx-scheme-handler/welkin=org.welkin.open.desktop;\n")
        try handler.install(command: ["/bin/other", "open"])
        #expect(try handler.state() == .installed(entry: DesktopEntry(command: ["/bin/other", "open"]).text))
        #expect(try handler.remove() == [handler.associationsFile, handler.entryFile])
        #expect(FileStamp(path: handler.associationsFile) == nil)
        #expect(FileStamp(path: handler.entryFile) == nil)
        #expect(try handler.state() == .missing)
    }

    @Test(arguments: [
        "", "# mine\n[Added Associations]\ntext/plain=editor.desktop;\n",
        "[Default Applications]\ntext/html=browser.desktop;\n\n[Removed Associations]\nimage/png=x.desktop;\n",
        "[Default Applications]\nx-scheme-handler/welkin=other.desktop;\ntext/html=browser.desktop;\n",
    ])
    func `other preferences stay as they are, byte for byte`(text: String) throws {
        try folder.write(text, to: "mimeapps.list")
        try handler.install(command: ["/bin/welkin"])
        let installed = MimeAssociations(try associations())
        #expect(installed.applications(for: DesktopEntry.mimeType).first == DesktopEntry.fileName)
        for line in text.split(separator: "\n") where !line.hasPrefix("x-scheme-handler/welkin") {
            #expect(installed.text.contains(line + "\n"))
        }
        _ = try handler.remove()
        #expect(try associations() == text)
    }

    @Test func `another program that opens the links is reported`() throws {
        try folder.write("[Default Applications]\nx-scheme-handler/welkin = a.desktop;b.desktop\n", to: "mimeapps.list")
        #expect(try handler.state() == .other("a.desktop"))
        try handler.install(command: ["/bin/welkin"])
        #expect(try associations().contains("x-scheme-handler/welkin=org.welkin.open.desktop;a.desktop;b.desktop;\n"))
    }
}
