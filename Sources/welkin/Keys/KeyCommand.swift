import ArgumentParser
import CloudKitAccounts
import CloudKitServer
import Foundation

/// Manages the keys with which servers sign their requests.
struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Manage server-to-server keys.",
        subcommands: [AddKeyCommand.self, ListKeysCommand.self, RevokeKeyCommand.self])
}

struct AddKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Register a server's public key.",
        discussion: """
            Create a pair with: openssl ecparam -name prime256v1 -genkey -noout -out key.pem && \
            openssl ec -in key.pem -pubout -out public.pem
            """)

    @OptionGroup var folder: DataOptions
    @OptionGroup var containerOptions: ContainerOptions
    @Option(help: ArgumentHelp("The public key, PEM; - is standard input.", valueName: "file"))
    var publicKey: String
    @Option(help: "The purpose of the key.") var name: String = ""
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let path = publicKey == "-" ? "/dev/stdin" : publicKey
        guard let pem = FileManager.default.contents(atPath: path) else {
            throw ValidationError("The key file \(publicKey) cannot be read.")
        }
        let key = try await DataFolder.with(folder) { folder in
            try await folder.order(
                "keys/server/create", in: containerOptions.containerID, containerOptions.environment,
                noting: { ["key": $0.id] }
            ) {
                try await folder.accountStore.serverKeys.add(
                    publicKey: String(decoding: pem, as: UTF8.self), container: containerOptions.containerID,
                    environment: containerOptions.environment, name: name)
            }
        }
        if json { return try Output.json(KeyLine(key)) }
        Output.result(key.id)
        Output.remark("Key for \(key.container), \(key.environment). Its id is not secret.")
    }
}

struct ListKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the server-to-server keys.")

    @OptionGroup var folder: DataOptions
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let lines = try await DataFolder.with(folder) { try await $0.accountStore.serverKeys.list() }.map {
            KeyLine($0)
        }
        if json { return try Output.json(lines) }
        guard !lines.isEmpty else {
            return Output.remark("No keys. Add one with: welkin key add iCloud.com.example.app --public-key public.pem")
        }
        Output.table(
            [["ID", "CONTAINER", "ENVIRONMENT", "NAME", "CREATED", "STATE"]]
                + lines.map {
                    [
                        $0.id, $0.container, $0.environment, $0.name, Output.time($0.created),
                        $0.revoked ? "revoked" : "active",
                    ]
                })
    }
}

struct RevokeKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "revoke", abstract: "Revoke a key.")

    @OptionGroup var folder: DataOptions
    @Argument(help: "The key's id, or its first digits.") var key: String

    func run() async throws {
        let revoked = try await DataFolder.with(folder) { folder in
            try await folder.order(
                "keys/server/revoke", noting: { ["key": $0.map(\.id).joined(separator: " ")] }
            ) {
                try await folder.accountStore.serverKeys.revoke(key)
            }
        }
        try RevocationError.check(revoked.map(\.id), kind: "key", list: "welkin key list")
        Output.result("Key \(revoked[0].id) revoked.")
    }
}

/// The row of a key in the list.
private struct KeyLine: Encodable {
    var id: String
    var container: String
    var environment: String
    var name: String
    var created: Int64
    var revoked: Bool
    var userRecordName: String

    init(_ key: ServerKey) {
        id = key.id
        container = key.container
        environment = key.environment
        name = key.name
        created = key.created
        revoked = key.isRevoked
        userRecordName = key.userRecordName
    }
}
