import ArgumentParser
import CloudKitServer
import FileStore
import OrderedStore
import OrderedStorePostgres

/// Copies the files of assets of a cloud to another place.
struct CopyFilesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy-files", abstract: "Copy the files of assets to another place.",
        discussion: """
            A place is a folder, s3://bucket/prefix, or database. The copy leaves out what is there already: it may run while the cloud \
            is served, be interrupted and be repeated. Then stop all nodes of the cloud and run it with --final, which notes the new place in \
            the database: from then on nodes use it. The files at the old place stay; delete them when you no longer need them.
            """)

    @OptionGroup var folder: DataOptions
    @Option(help: ArgumentHelp("The place to copy the files to.", valueName: "place")) var to: String
    @Flag(help: "Note the new place; no node may be running.") var final = false

    func run() async throws {
        guard case .postgres = try folder.location() else {
            throw CommandFailure(
                "the files of a cloud in a data folder stay in it; name the database of the cloud with --store-file")
        }
        let target = try FilesPlace(to)
        try await DataFolder.with(folder) { folder in
            if final { try await refuseRunningNodes(folder.store) }
            guard target != folder.filesPlace else { throw CommandFailure("the files are in \(to) already") }
            let files = try await target.open(
                in: folder.store, settings: try self.folder.files.settings(), now: DataFolder.now)
            let copy = FileCopy(from: folder.files, to: files)
            var summary = FileCopy.Summary()
            for number in UInt8.min...UInt8.max {
                summary += try await copy.run(inFolder: number)
                if number % 32 == 31 { Output.remark("\(Int(number) + 1) of 256 folders, \(Self.text(summary))") }
            }
            Output.result(Self.text(summary))
            if final {
                try await FilesNote(store: folder.store).write(target)
                Output.result("complete; nodes use \(target.argument) from now on")
            } else {
                Output.remark("Stop all nodes of the cloud, then repeat the command with --final.")
            }
        }
    }

    /// Refuses to go on while nodes give signs of life: what they receive meanwhile would stay at the old place.
    private func refuseRunningNodes(_ store: any PersistentStore) async throws {
        func signs() async throws -> [Entry] {
            try await store.read(.nodes) {
                try await $0.scan(KeyRange(lower: [], upper: [0xFF]), limit: .max)
            }
        }
        let before = try await signs()
        if before.isEmpty { return }
        // Each node changes its row once a second.
        try await Task.sleep(for: .seconds(3))
        guard try await signs() == before else {
            throw CommandFailure("nodes of the cloud are running; stop all of them, then repeat the command")
        }
    }

    private static func text(_ summary: FileCopy.Summary) -> String {
        "\(summary.fileCount) files of \(summary.byteCount) bytes; \(summary.copiedCount) copied"
    }
}
