import CloudKit

// Encrypted values: written on one device, read on the other, and unreadable for the cloud.
extension AddressBookScenario {
    private static let diaryEntry = "Met at the lake, lent me the blue bicycle. Never mention it to Sam."

    /// Device A writes encrypted values and attaches a file; device B reads both.
    mutating func writeSecrets() async throws {
        let person = try contact(30)
        let id = CKRecord.ID(recordName: "diary of " + person.recordName, zoneID: zone)
        let record = CKRecord(recordType: "Diary", recordID: id)
        record["subject"] = person.fullName
        record.encryptedValues["entry"] = Self.diaryEntry
        record.encryptedValues["met"] = Date(timeIntervalSince1970: 1_750_000_000)
        record.encryptedValues["mood"] = 7
        record.encryptedValues["tags"] = ["lake", "bicycle"]
        let drawing = try Self.draw()
        defer { try? FileManager.default.removeItem(at: drawing) }
        record["drawing"] = CKAsset(fileURL: drawing)
        _ = try await a.database.save(record)
        terminal.row("device A saved", "4 encrypted values and a file", "set through record.encryptedValues")

        let read = try await b.database.record(for: id)
        let secrets = read.encryptedValues
        try expect(secrets["entry"] as? String == Self.diaryEntry, "B reads the entry that A wrote.")
        try expect(secrets["mood"] as? Int == 7, "B reads the number that A wrote.")
        try expect(secrets["tags"] as? [String] == ["lake", "bicycle"], "B reads the list that A wrote.")
        let file = (read["drawing"] as? CKAsset)?.fileURL.flatMap { FileManager.default.contents(atPath: $0.path) }
        try expect(file == FileManager.default.contents(atPath: drawing.path), "B has the file that A attached.")
        terminal.row("device B read", "the same values and the same file")

        let view = try ServerView(of: id, user: try await a.container.userRecordID(), options)
        try show(read, beside: view)
    }

    /// Shows the device's and the cloud's view of a record.
    private func show(_ record: CKRecord, beside view: ServerView?) throws(DemoFailure) {
        guard let view else {
            return terminal.detail("The cloud's view is shown if its data folder is given (--data).")
        }
        let asset = record["drawing"] as? CKAsset
        let size = asset?.fileURL.flatMap { FileManager.default.contents(atPath: $0.path)?.count } ?? 0
        let device: [(String, String)] = [
            ("subject", record["subject"] as? String ?? ""),
            ("entry", record.encryptedValues["entry"] as? String ?? ""),
            ("met", (record.encryptedValues["met"] as? Date)?.ISO8601Format() ?? ""),
            ("mood", (record.encryptedValues["mood"] as? Int).map(String.init) ?? ""),
            ("tags", (record.encryptedValues["tags"] as? [String])?.joined(separator: ", ") ?? ""),
            ("drawing", size.of("byte")),
        ]
        terminal.line()
        terminal.table(
            ["field", "on the device", "in the cloud", "type there"],
            device.map { name, value in
                let line = view.fields[name]
                return [name, value.clipped(to: 34), (line?.stored ?? "?").clipped(to: 34), line?.type ?? "?"]
            })
        terminal.line()
        for (name, value) in device.dropFirst() {
            let stored = view.fields[name]?.stored ?? ""
            // A single digit may occur in sealed bytes by chance.
            let isOpen = value.count < 4 ? stored == value || stored == "\"\(value)\"" : stored.contains(value)
            try expect(!stored.isEmpty && !isOpen, "the cloud stores \(name), and not in plain text.")
        }
        terminal.row("the cloud", "stores them sealed", "welkin record show")
    }

    /// Writes a temporary file of 200 KB.
    private static func draw() throws -> URL {
        let url = FileManager.default.temporaryDirectory.appending(path: "drawing-\(UUID().uuidString).svg")
        let lines = (0..<4000).map { "<line x1=\"0\" y1=\"\($0)\" x2=\"\($0 * 7 % 640)\" y2=\"480\"/>" }
        let text = "<svg xmlns=\"http://www.w3.org/2000/svg\">\n" + lines.joined(separator: "\n") + "\n</svg>\n"
        try Data(text.utf8).write(to: url)
        return url
    }
}
