import CloudUnderTest
import Foundation
import Testing

/// Tests of the built `cktool` with schemas, over HTTP.
@Suite(.timeLimit(.minutes(20))) struct CKToolSchemaTests {
    private static let container = CloudAndMachines.container

    /// A developer's machine with a management token of the container.
    private func developer(_ setup: CloudAndMachines) async throws -> Machine {
        var machine = try setup.machine("developer")
        machine.variables["CLOUDKIT_CONTAINER"] = ""
        machine.variables["CLOUDKIT_API_TOKEN"] = ""
        let token = try await setup.managementToken()
        let saved = try await machine.cktool("save-token", "--type", "management", input: [token])
        #expect(saved.status == 0 && saved.output.isEmpty, "\(saved.remarks)")
        return machine
    }

    private func write(_ text: String, _ machine: Machine, as name: String = "schema.ckdb") throws -> String {
        let path = machine.home + "/" + name
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    /// The options of Apple's tool.
    private static let place = ["--team-id", "WWDRTEAMID", "--container-id", container]
    private static let development = place + ["--environment", "development"]
    private static let production = place + ["--environment", "production"]
    private static let text = "DEFINE SCHEMA\nRECORD TYPE Book (\n  title STRING QUERYABLE SORTABLE\n);\n"

    @Test func `a schema is validated, imported, exported, compared, deployed and reset`() async throws {
        try await CloudAndMachines.run { setup in
            let machine = try await developer(setup)
            let file = try write(Self.text, machine)
            let valid = try await machine.cktool(["validate-schema"] + Self.development + ["--file", file])
            #expect(valid.status == 0 && valid.output == "✅ Schema is valid.\n", "\(valid.remarks)")
            let unchanged = try await machine.cktool(["export-schema"] + Self.development)
            #expect(unchanged.status == 0 && !unchanged.output.contains("Book"))

            let imported = try await machine.cktool(["import-schema"] + Self.development + ["--file", file])
            #expect(imported.status == 0 && imported.output.isEmpty && imported.remarks.isEmpty)
            let copy = machine.home + "/copy.ckdb"
            let exported = try await machine.cktool(
                ["export-schema"] + Self.development + ["--output-file", copy])
            #expect(exported.status == 0 && exported.output.isEmpty)
            let written = try String(contentsOfFile: copy, encoding: .utf8)
            #expect(written.hasPrefix("DEFINE SCHEMA\n") && written.contains("STRING QUERYABLE SORTABLE"))
            let printed = try await machine.cktool(["export-schema"] + Self.development)
            #expect(printed.output == written)
            let same = try await machine.cktool(["diff-schema"] + Self.development + ["--file", copy])
            #expect(same.status == 0 && same.output.isEmpty)

            let difference = try await machine.cktool(["diff-schema"] + Self.development)
            #expect(difference.output.contains("+ RECORD TYPE Book"), "\(difference.output)")
            let report = try await machine.cktool(["deploy-schema"] + Self.place + ["--dry-run"])
            #expect(report.output.contains("+ RECORD TYPE Book"), "\(report)")
            let before = try await machine.cktool(["export-schema"] + Self.production)
            #expect(!before.output.contains("Book"))
            let deployed = try await machine.cktool(["deploy-schema"] + Self.place)
            #expect(deployed.status == 0, "\(deployed.remarks)")
            let after = try await machine.cktool(["export-schema"] + Self.production)
            #expect(after.output.contains("Book"))

            let more = try write(Self.text.replacing("title", with: "pages INT64,\n  title"), machine)
            #expect(try await machine.cktool(["import-schema"] + Self.development + ["--file", more]).status == 0)
            #expect(try await machine.cktool(["reset-schema"] + Self.place).status == 0)
            let reset = try await machine.cktool(["export-schema"] + Self.development)
            #expect(reset.output.contains("title") && !reset.output.contains("pages"))
        }
    }

    @Test func `a mistake in a file is named, and changes nothing`() async throws {
        try await CloudAndMachines.run { setup in
            let machine = try await developer(setup)
            let wrong = try write("DEFINE SCHEMA\nRECORD TYPE Book (\n  title STRNG\n);\n", machine)
            for command in [["validate-schema"], ["import-schema", "--validate"]] {
                let refused = try await machine.cktool(command + Self.development + ["--file", wrong])
                #expect(refused.status == 1)
                #expect(refused.remarks.hasPrefix("❌ Schema validation failed: "), "\(refused.remarks)")
                #expect(refused.remarks.contains("ine 3, column 9"), "\(refused.remarks)")
            }
            let refused = try await machine.cktool(["import-schema"] + Self.development + ["--file", wrong])
            #expect(refused.status == 1 && refused.remarks.hasPrefix("Error: "))
            let absent = try await machine.cktool(["import-schema"] + Self.development + ["--file", "/nothing.ckdb"])
            #expect(absent.status == 1 && absent.remarks.contains("/nothing.ckdb cannot be read"))
            let file = try write(Self.text, machine)
            let production = try await machine.cktool(["import-schema"] + Self.production + ["--file", file])
            #expect(production.status == 1 && production.remarks.contains("deploy"), "\(production.remarks)")
            let exported = try await machine.cktool(["export-schema"] + Self.development)
            #expect(!exported.output.contains("Book"))
        }
    }

    @Test func `what a schema would lose needs the operator's word`() async throws {
        try await CloudAndMachines.run { setup in
            let machine = try await developer(setup)
            let file = try write(Self.text, machine)
            #expect(try await machine.cktool(["import-schema"] + Self.development + ["--file", file]).status == 0)
            #expect(try await machine.cktool(["deploy-schema"] + Self.place).status == 0)
            let less = try write(Self.text.replacing(" SORTABLE", with: ""), machine, as: "less.ckdb")
            #expect(try await machine.cktool(["import-schema"] + Self.development + ["--file", less]).status == 0)
            let report = try await machine.cktool(["deploy-schema"] + Self.place + ["--dry-run"])
            #expect(report.status == 1 && report.output.contains("risk: "), "\(report)")
            let refused = try await machine.cktool(["deploy-schema"] + Self.place)
            #expect(refused.status == 1, "\(refused)")
            #expect(try await machine.cktool(["deploy-schema"] + Self.place + ["--force"]).status == 0)
        }
    }

    @Test func `roles are given and taken`() async throws {
        try await CloudAndMachines.run { setup in
            let machine = try await developer(setup)
            let file = try write("DEFINE SCHEMA\nCREATE ROLE editor;\n" + Self.text.dropFirst(14), machine)
            #expect(try await machine.cktool(["import-schema"] + Self.development + ["--file", file]).status == 0)
            let added = try await machine.cktool(
                ["add-role-member"] + Self.development + ["--role", "owner", "--user-record-name", "_somebody"])
            #expect(added.status == 1, "\(added)")
            let ada = try await setup.signedInMachine("ada")
            let name = try #require(
                try ada.configuration().deviceProfile.credentials()?.containers.first?.userRecordName)
            for (command, members) in [("add-role-member", [name]), ("remove-role-member", [])] {
                let changed = try await machine.cktool(
                    [command] + Self.development + ["--role", "editor", "--user-record-name", name])
                #expect(changed.status == 0, "\(changed.remarks)")
                let roles = try await machine.cktool(["get-roles"] + Self.development)
                #expect(try roles.decoded([String: [String: [String]]].self)["roles"]?["editor"] ?? [] == members)
            }
        }
    }

    @Test func `errors say what to do, and exit codes are those of Apple's tool`() async throws {
        try await CloudAndMachines.run { setup in
            let machine = try await developer(setup)
            let export = ["export-schema"] + Self.development
            let invalid = try await machine.cktool(export + ["--token", String(repeating: "0", count: 64)])
            #expect(invalid.status == 1 && invalid.remarks.contains("The management token is not valid"))
            let elsewhere = try await machine.cktool([
                "export-schema", "--container-id", "iCloud.com.example.other", "--environment", "development",
            ])
            #expect(elsewhere.status == 1 && elsewhere.remarks.contains("for another container"), "\(elsewhere)")
            for wrong in [
                export + ["--colour"], ["export-schema", "--environment", "development"],
                export + ["--environment", "testing"], ["export-schema", "--container-id", "a b"], ["fly"],
            ] {
                let outcome = try await machine.cktool(wrong)
                #expect(outcome.status == 64, "\(wrong): \(outcome)")
            }
            let help = try await machine.cktool(["import-schema", "--help"])
            #expect(help.status == 0 && help.output.contains("--container-id"))

            #expect(try await machine.cktool(["remove-token", "--type", "management", "--force"]).status == 0)
            let without = try await machine.cktool(export)
            #expect(without.status == 64)
            #expect(
                without.remarks.contains(
                    "No management token found in arguments, CLOUDKIT_MANAGEMENT_TOKEN environment variable"))

            var lost = machine
            lost.variables["CLOUDKIT_MANAGEMENT_TOKEN"] = String(repeating: "0", count: 64)
            let port = try HeldPort()
            let unreachable = try await lost.cktool(export + ["--endpoint", "http://127.0.0.1:\(port.number)"])
            #expect(unreachable.status == 1 && unreachable.remarks.contains("Is it running?"), "\(unreachable)")
            lost.variables["CLOUDKIT_ENDPOINT"] = ""
            let nowhere = try await lost.cktool(export)
            #expect(nowhere.status == 64 && nowhere.remarks.contains("--endpoint"), "\(nowhere)")
            let plain = try await lost.cktool(export + ["--endpoint", "http://cloud.example.com"])
            #expect(plain.status == 64, "\(plain)")
        }
    }

    @Test func `tokens are kept for their cloud, in a file that only its owner can read`() async throws {
        try await CloudAndMachines.run { setup in
            let machine = try await developer(setup)
            let path = machine.home + "/config/cktool"
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            let teams = try await machine.cktool(["get-teams"])
            #expect(teams.status == 0, "\(teams.remarks)")
            #expect(
                teams.output
                    == "WELKINTEAM: http://127.0.0.1:\(setup.cloud.port), \(Self.container)\n")

            // Another cloud does not get the token.
            let port = try HeldPort()
            let other = try await machine.cktool(["get-teams", "--endpoint", "http://127.0.0.1:\(port.number)"])
            #expect(other.status == 64 && other.remarks.contains("No management token found"))

            let again = try await machine.cktool("save-token", "abc123", "--type", "management", input: [])
            #expect(again.status == 64 && again.remarks.contains("--force"), "\(again)")
            let unsaid = try await machine.cktool("save-token", "abc123", input: [])
            #expect(unsaid.status == 64 && unsaid.remarks.contains("--type"))
            let forced = try await machine.cktool(
                "save-token", "abc123", "--type", "management", "--method", "file", "--force", input: [])
            #expect(forced.status == 0)
            #expect(try await machine.cktool(["get-teams"]).status == 1)
            // A variable counts before the file, an argument before both.
            var variable = machine
            variable.variables["CLOUDKIT_MANAGEMENT_TOKEN"] = try await setup.managementToken()
            #expect(try await variable.cktool(["get-teams"]).status == 0)
            #expect(try await variable.cktool(["get-teams", "-t", "abc123"]).status == 1)

            let unsure = try await machine.cktool(["remove-token", "--type", "management"])
            #expect(unsure.status == 64)
            #expect(try await machine.cktool(["remove-token", "--type", "management", "--force"]).status == 0)
            #expect(!machine.exists("config/cktool"))
            let gone = try await machine.cktool(["remove-token", "--type", "management", "--force"])
            #expect(gone.status == 1 && gone.remarks.contains("There is no saved management token"))

            for bad in ["", "two words"] {
                let refused = try await machine.cktool("save-token", "--type", "management", input: [bad])
                #expect(refused.status == 64, "\(refused)")
            }
        }
    }

    @Test func `a token is typed at a terminal without being shown`() async throws {
        try await CloudAndMachines.run { setup in
            let machine = try setup.machine("developer")
            let terminal = try PseudoTerminal()
            defer { terminal.close() }
            terminal.type("management")
            terminal.type(try await setup.managementToken())
            let saved = try await machine.cktool(["save-token"], at: terminal)
            #expect(saved.status == 0, "\(saved.remarks)")
            #expect(saved.remarks.contains("Management token: "))
            #expect(try await machine.cktool(["get-teams"]).status == 0)
            terminal.type("no")
            let kept = try await machine.cktool(["remove-token", "--type", "management"], at: terminal)
            #expect(kept.status == 1 && kept.remarks.contains("Nothing was done."), "\(kept)")
            #expect(try await machine.cktool(["get-teams"]).status == 0)
        }
    }
}

extension CloudAndMachines {
    /// Returns a management token of the container, made by the operator.
    func managementToken() async throws -> String {
        let made = try await runAsOperator("admin", "token", "create", "--container", Self.container)
        guard made.status == 0 else { throw ChildFailure(program: "welkin admin token create", reason: made.remarks) }
        return made.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

extension Machine {
    /// Runs `cktool` without a terminal.
    func cktool(_ arguments: [String], input: [String] = []) async throws -> Outcome {
        try await Self.run([try Self.cktoolPath()] + arguments, input: input, variables: variables, in: home)
    }

    /// Runs `cktool` without a terminal.
    func cktool(_ arguments: String..., input: [String]) async throws -> Outcome {
        try await cktool(arguments, input: input)
    }

    /// Runs `cktool` with a terminal.
    func cktool(_ arguments: [String], at terminal: PseudoTerminal) async throws -> Outcome {
        try await Self.run([try Self.cktoolPath()] + arguments, at: terminal.path, variables: variables, in: home)
    }

    private static func cktoolPath() throws -> String {
        guard let program = CloudProcess.program(named: "cktool") else {
            throw ChildFailure(program: "cktool", reason: "not built; run swift build")
        }
        return program
    }
}
