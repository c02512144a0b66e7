import ArgumentParser
import CloudKitDevice
import Foundation
import OrderedStorePostgres

/// The options for the cloud that a command works on: its data folder, and its store if that is elsewhere.
struct DataOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The cloud's data folder; ./data by default, or what the file of settings says. [env: WELKIN_DATA]",
            valueName: "dir"))
    var data: String = Self.dataDefault
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The database of the store, postgres://user@host/database, instead of a file in the data folder. [env: WELKIN_STORE]",
            valueName: "address"))
    var store: String?
    @Option(
        name: .long,
        help: ArgumentHelp("A file with the address of the database, which may hold the password.", valueName: "file"))
    var storeFile: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The place of the files of assets of a cloud in a database: a folder that nodes share, s3://bucket/prefix, or database, which is the default. [env: WELKIN_ASSETS]",
            valueName: "place"))
    var assets: String?
    @Option(
        name: .long,
        help: ArgumentHelp(
            "A file with the settings of the object store: lines of endpoint, public_endpoint, region, access_key, secret_key and place, each with = and a value. [env: WELKIN_ASSETS_FILE]",
            valueName: "file"))
    var assetsFile: String?

    /// The options for the files of assets.
    var files: FilesOptions { FilesOptions(assets: assets, file: assetsFile) }

    /// The folder that a command works on when it is not told: commands beside a cloud find the same one as `serve`.
    private static let dataDefault: String = {
        let variables = ProcessInfo.processInfo.environment
        if let folder = variables["WELKIN_DATA"], !folder.isEmpty { return folder }
        return SettingsPath.setting("data", environment: variables) ?? "./data"
    }()

    func validate() throws {
        guard store == nil || storeFile == nil else {
            throw ValidationError("--store and --store-file exclude each other.")
        }
        if let store { try StoreLocation.checkArgument(store) }
    }

    /// Refuses a store in a database.
    ///
    /// - Parameter purpose: What is done to a store in the data folder alone, as the beginning of a sentence.
    func requireStoreInFolder(for purpose: String) throws {
        guard case .folder = try location() else {
            throw CommandFailure(
                "\(purpose) works on a store in the data folder; a database has tools of its own for it (docs/postgresql.md)"
            )
        }
    }

    /// The place of the store.
    func location() throws -> StoreLocation {
        if let store { return try StoreLocation(address: store) }
        if let storeFile { return try StoreLocation(file: storeFile) }
        let variables = ProcessInfo.processInfo.environment
        if let address = variables["WELKIN_STORE"], !address.isEmpty { return try StoreLocation(address: address) }
        if let file = variables["WELKIN_STORE_FILE"], !file.isEmpty { return try StoreLocation(file: file) }
        if let address = SettingsPath.setting("store", environment: variables) {
            return try StoreLocation(address: address)
        }
        if let file = SettingsPath.setting("store-file", environment: variables) {
            return try StoreLocation(file: file)
        }
        return .folder
    }
}

/// The place of a cloud's store.
enum StoreLocation {
    /// A file of SQLite in the data folder.
    case folder
    /// A database.
    case postgres(PostgresConfiguration)

    /// Reads an address.
    init(address: String) throws {
        guard PostgresConfiguration.isAddress(address) else {
            throw CommandFailure("the address of a store begins with postgres://")
        }
        do {
            self = .postgres(try PostgresConfiguration(address))
        } catch {
            throw CommandFailure("the store cannot be used: \(error)")
        }
    }

    /// Reads an address from the first line of a file.
    init(file: String) throws {
        guard let bytes = try PrivateFile.read(file) else { throw CommandFailure("there is no file \(file)") }
        let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first ?? ""
        try self.init(address: line.trimmingCharacters(in: .whitespaces))
    }

    /// Refuses an address with a password: every user of a machine sees the arguments of its programs.
    static func checkArgument(_ address: String) throws {
        guard PostgresConfiguration.isAddress(address), PostgresConfiguration.holdsPassword(address) else { return }
        throw ValidationError(
            "A password among the arguments can be read by every user of this machine. Put the address into a file "
                + "(--store-file), into WELKIN_STORE, or the password into PGPASSWORD or ~/.pgpass.")
    }
}

/// The options for the files of assets, as the command line, the environment and the file of settings give them.
struct FilesOptions {
    /// The option `--assets`.
    var assets: String?
    /// The option `--assets-file`.
    var file: String?

    private static func named(_ given: String?, variable: String, setting: String) -> String? {
        if let given { return given }
        let variables = ProcessInfo.processInfo.environment
        if let text = variables[variable], !text.isEmpty { return text }
        return SettingsPath.setting(setting, environment: variables)
    }

    /// Returns the settings of the object store.
    func settings() throws -> ObjectStoreSettings {
        try ObjectStoreSettings(
            file: Self.named(file, variable: "WELKIN_ASSETS_FILE", setting: "assets-file"),
            environment: ProcessInfo.processInfo.environment)
    }

    /// Returns the place that is asked for; nil: none.
    func place() throws -> FilesPlace? {
        let named = Self.named(assets, variable: "WELKIN_ASSETS", setting: "assets")
        return try (named ?? settings().place).map { try FilesPlace($0) }
    }
}
