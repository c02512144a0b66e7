import CloudKitAccounts
import CloudKitDevice
import CloudKitServer
import FileStore
import Foundation
import OrderedStoreSQLite

/// The folder in which a cloud keeps everything: its store, the files of assets and its secret, readable by their owner only.
struct DataFolder {
    let path: String
    let store: SQLiteStore
    /// The bytes of assets.
    let files: FolderFileStore
    let serverEnvironment: ServerEnvironment

    /// Opens the folder.
    ///
    /// - Parameter canBegin: Whether a cloud begins where there is none: the folder is made, and the store and the secret in it. Those
    ///   above it are not, and commands that work on a cloud begin none: a mistyped path is to be found out.
    /// - Throws: `CommandFailure`, `SecretError`.
    private init(_ path: String, canBegin: Bool) throws {
        let path = URL(fileURLWithPath: path).path
        self.path = path
        let begins = try !Self.exists(path + Self.storeName, in: path)
        if begins { try Self.checkBeginning(of: path, isAllowed: canBegin) }
        // Whatever is made from here on, also by the store, is nobody else's to read.
        umask(0o077)
        do {
            if begins { try PrivateFile.makeFolder(path) }
            serverEnvironment = ServerEnvironment(secret: try Self.secret(path + "/secret"), now: Self.now)
            store = try SQLiteStore(path: path + Self.storeName)
            files = try FolderFileStore(path + "/assets", now: Self.now)
        } catch let error as SecretError {
            throw error
        } catch {
            throw CommandFailure("the data folder \(path) cannot be used: \(error)")
        }
    }

    /// Says that this process runs the cloud of the folder, until it ends.
    ///
    /// - Throws: `CommandFailure` where another process does: what two remember of one store would soon differ.
    func claim() throws -> FileClaim {
        guard let claim = FileClaim(path + "/serve.lock") else {
            throw CommandFailure(
                "a cloud runs on \(path) already; stop it first, or give this one another folder with --data")
        }
        return claim
    }

    var accountStore: AccountStore { AccountStore(store, serverEnvironment) }
    var cloud: Cloud { cloud(limits: Limits()) }

    func cloud(limits: Limits) -> Cloud {
        Cloud(store: store, files: files, serverEnvironment: serverEnvironment, limits: limits)
    }

    /// Opens a folder, works on it, and closes its store whatever happens; what the rules refuse is told in words.
    ///
    /// - Parameter canBegin: Whether a cloud begins there when there is none, in a folder that is made where the one above it is.
    static func with<Value>(
        _ path: String, canBegin: Bool = false, _ body: (DataFolder) async throws -> Value
    ) async throws -> Value {
        let folder = try DataFolder(path, canBegin: canBegin)
        do {
            let value = try await CommandFailure.explaining { try await body(folder) }
            await folder.store.close()
            return value
        } catch {
            await folder.store.close()
            throw error
        }
    }

    private static let now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }

    private static let storeName = "/welkin.sqlite"

    /// Refuses a beginning that is not meant.
    private static func checkBeginning(of path: String, isAllowed: Bool) throws {
        guard isAllowed else {
            throw CommandFailure(
                "there is no cloud in \(path); say with --data or WELKIN_DATA where it is, "
                    + "or begin one there with: welkin serve --data \(path)")
        }
        let above = URL(fileURLWithPath: path).deletingLastPathComponent().path
        guard try exists(above, in: path) else {
            throw CommandFailure(
                "there is no folder \(above) for the data folder \(path); make it first, if the cloud belongs there")
        }
    }

    private static func exists(_ file: String, in path: String) throws -> Bool {
        if access(file, F_OK) == 0 { return true }
        let code = errno
        // Who may not look would take a cloud for none.
        guard code == ENOENT else {
            throw CommandFailure("the data folder \(path) cannot be used: \(FileFailure("look into it", code))")
        }
        return false
    }

    /// 32 bytes, in hexadecimal in the file. Whoever has them can make tokens for anybody.
    private static func secret(_ path: String) throws -> [UInt8] {
        let fresh = ServerEnvironment.systemRandom(32).hex + "\n"
        let held = try PrivateFile.readOrCreate(path, Array(fresh.utf8))
        let text = String(decoding: held, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        let bytes = stride(from: 0, to: text.utf8.count, by: 2).compactMap { offset in
            UInt8(text.dropFirst(offset).prefix(2), radix: 16)
        }
        guard bytes.count == 32, text.utf8.count == 64 else { throw SecretError(path: path) }
        return bytes
    }
}

/// The secret's file does not hold one.
struct SecretError: Error, CustomStringConvertible {
    var path: String

    var description: String {
        "\(path) is not a cloud's secret (64 hexadecimal digits). Restore it from a backup; a new one would end every "
            + "sign-in and make every device fetch anew."
    }
}
