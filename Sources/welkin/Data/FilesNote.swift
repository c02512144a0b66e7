import Foundation
import OrderedStore

/// The note in a database of where the files of its cloud are, so that no node looks for them elsewhere.
struct FilesNote {
    let store: any PersistentStore

    /// Of the partitions of files, which a copy into a data folder leaves out.
    private static let partition = Partition(Partition.largeValuesPrefix + "place")
    private static let key: Bytes = [0xD0]

    /// Reads the note; nil if there is none.
    func read() async throws -> String? {
        try await store.read(Self.partition) { try await $0.get(Self.key) }.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Replaces the note.
    func write(_ place: FilesPlace) async throws {
        var text = place.note
        // Other nodes may have the folder elsewhere: a hint for them.
        if case .folder(let path) = place { text += " " + path }
        let bytes = Bytes(text.utf8)
        try await store.write(Self.partition) { $0.set(Self.key, bytes) }
    }

    /// Returns the place of the files: the one that is asked for, or the one that is noted.
    ///
    /// - Parameters:
    ///   - asked: The place that the settings name; nil: none.
    ///   - folder: The folder of files in the data folder, for a cloud that has it.
    ///   - notes: Whether a place is noted where none is yet.
    /// - Throws: `CommandFailure` if the files are elsewhere.
    func place(asked: FilesPlace?, folder: String, notes: Bool) async throws -> FilesPlace {
        guard let noted = try await read() else {
            // A cloud of before there was a choice, or one that was copied from a data folder, has its files there.
            let place = asked ?? (Self.holdsFiles(folder) ? .folder(folder) : .database)
            if notes { try await write(place) }
            return place
        }
        let notedPath = noted.hasPrefix("folder ") ? String(noted.dropFirst("folder ".count)) : nil
        guard let asked else {
            guard let notedPath else { return try FilesPlace(noted) }
            guard let path = [folder, notedPath].first(where: Self.holdsFiles) ?? Self.existing(notedPath) else {
                throw CommandFailure(
                    "the files of this cloud are in a folder that nodes share, which is not at \(notedPath) here; name it with --assets"
                )
            }
            return .folder(path)
        }
        guard asked.note == (notedPath == nil ? noted : "folder") else {
            throw CommandFailure(
                "the files of this cloud are in \(notedPath ?? noted), not in \(asked.argument); name that place with --assets, or copy "
                    + "the files with welkin store copy-files --to \(asked.argument)")
        }
        return asked
    }

    private static func existing(_ path: String) -> String? {
        FileManager.default.fileExists(atPath: path) ? path : nil
    }

    /// Whether a folder of files holds any.
    private static func holdsFiles(_ folder: String) -> Bool {
        let files = folder + "/files"
        let folders = (try? FileManager.default.contentsOfDirectory(atPath: files)) ?? []
        return folders.contains { name in
            !((try? FileManager.default.contentsOfDirectory(atPath: files + "/" + name)) ?? []).isEmpty
        }
    }
}
