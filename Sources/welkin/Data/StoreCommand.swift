import ArgumentParser
import CloudKitDevice
import Foundation
import OrderedStore
import OrderedStorePostgres
import OrderedStoreSQLite

/// Works on stores as a whole.
struct StoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store", abstract: "Move a store to another engine, or its files to another place.",
        subcommands: [CopyStoreCommand.self, CopyFilesCommand.self])
}

struct CopyStoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy", abstract: "Copy a store into another: SQLite to PostgreSQL, or the reverse.",
        discussion: """
            A store is the data folder of a cloud (its welkin.sqlite), postgres://user@host/database, or @FILE with such an \
            address. The copy writes only what differs: it may run while the cloud is served, be interrupted and be repeated. \
            Then stop the cloud and run it with --final, which compares both stores and gives the copy the epoch of its source: \
            devices go on with it and fetch nothing again. Serve it with the same data folder, which has the secret, or a folder with a \
            copy of it. Files of assets in a database are copied into a database; any others stay where they are, and the command \
            says how they are copied.
            """)

    @Option(help: ArgumentHelp("The store to copy.", valueName: "store")) var from: String
    @Option(help: ArgumentHelp("The store to fill.", valueName: "store")) var to: String
    @Flag(help: "Complete the copy; no cloud may be running on the source.") var final = false

    func validate() throws {
        guard from != to else { throw ValidationError("--from and --to name the same store.") }
        for place in [from, to] { try StoreLocation.checkArgument(place) }
    }

    func run() async throws {
        // Held until the end of the command.
        let claim = final ? try CopiedStore.claim(from) : nil
        defer { withExtendedLifetime(claim) {} }
        let source = try await CopiedStore.open(from, creates: false)
        do {
            let target = try await CopiedStore.open(to, creates: true)
            do {
                try await copy(from: source, to: target)
                await target.close()
            } catch {
                await target.close()
                throw error
            }
            await source.close()
        } catch {
            await source.close()
            throw error
        }
    }

    private func copy(from source: any PersistentStore, to target: any PersistentStore) async throws {
        guard source.storeID != target.storeID else { throw CommandFailure("--from and --to are the same store") }
        // A data folder has its files in a folder.
        let leavesFiles = target is SQLiteStore
        let copy = StoreCopy(
            from: source, to: target, without: leavesFiles ? Partition.largeValuesPrefix : nil)
        let summary: StoreCopy.Summary
        do {
            summary = try await copy.run { summary in
                if summary.partitionCount % Self.partitionsPerLine == 0 { Output.remark(Self.text(summary)) }
            }
            Output.result(Self.text(summary))
            guard final else {
                Output.remark("Stop the cloud, then repeat the command with --final.")
                return
            }
            guard try await copy.finish(summary) else {
                throw CommandFailure("the copy is not what was copied: something else writes to it; repeat the command")
            }
        } catch let error as StoreError {
            throw CommandFailure("the store was not copied: \(error)")
        }
        Output.result("complete; digest \(String(summary.digest, radix: 16)), epoch \(String(target.epoch, radix: 16))")
        if let remark = try await remarkOnFiles(of: source, leavesFiles: leavesFiles) { Output.remark(remark) }
    }

    /// Returns what is to be done about files that were not copied; nil: nothing.
    private func remarkOnFiles(of source: any PersistentStore, leavesFiles: Bool) async throws -> String? {
        if source is SQLiteStore {
            return
                "The files of assets are still in \(from)/assets, where the cloud goes on to use them. To move them: welkin store "
                + "copy-files --data \(from) --to database (or s3://bucket/prefix), with the options of the new store."
        }
        let noted = try await FilesNote(store: source).read() ?? "folder"
        if !leavesFiles {
            return noted == FilesPlace.database.note ? nil : "The files of assets are still in their place: \(noted)."
        }
        return
            "The files of assets were not copied. Before the cloud is served from \(to): welkin store copy-files --data \(to) --to "
            + "\(to)/assets, with the options of the old store."
    }

    private static let partitionsPerLine = 1000

    private static func text(_ summary: StoreCopy.Summary) -> String {
        "\(summary.partitionCount) partitions, \(summary.entryCount) entries; \(summary.changeCount) written"
    }
}

/// A store that is named in the arguments of a copy.
private enum CopiedStore {
    static func open(_ place: String, creates: Bool) async throws -> any PersistentStore {
        do {
            guard place.hasPrefix("@") || PostgresConfiguration.isAddress(place) else {
                var options = SQLiteStore.Options()
                options.createsFile = creates
                umask(0o077)
                if !creates { try StartCheck(folder: place, storePath: place + "/welkin.sqlite").checkLog() }
                return try SQLiteStore(path: place + "/welkin.sqlite", options: options)
            }
            let location =
                place.hasPrefix("@")
                ? try StoreLocation(file: String(place.dropFirst())) : try StoreLocation(address: place)
            guard case .postgres(let configuration) = location else { throw CommandFailure("no store: \(place)") }
            return try await PostgresStore.open(
                PostgresStore.Options(configuration, wallClock: { Int64(Date().timeIntervalSince1970 * 1000) }))
        } catch let error as StoreError {
            // The place may not hold a password (`StoreLocation.checkArgument`).
            throw CommandFailure("the store \(place) cannot be used: \(error)")
        }
    }

    /// Claims the data folder of a source, so that no cloud is served from it during its last copy.
    static func claim(_ place: String) throws -> FileClaim? {
        guard !place.hasPrefix("@"), !PostgresConfiguration.isAddress(place) else { return nil }
        guard let claim = FileClaim(place + "/serve.lock") else {
            throw CommandFailure("a cloud is running on \(place); stop it first")
        }
        return claim
    }
}
