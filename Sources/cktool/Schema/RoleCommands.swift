import ArgumentParser

/// Lists the users of custom roles; an addition to Apple's tool.
struct GetRolesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get-roles", abstract: "List the users of the schema's custom roles as JSON.",
        discussion: "An addition to Apple's tool.")

    @OptionGroup var options: SchemaOptions

    func run() async throws {
        let (place, client) = try options.open()
        try ToolOutput.json(try await client.schema("roles", in: place))
    }
}

/// The options that name a role and a user.
struct RoleMemberOptions: ParsableArguments {
    @OptionGroup var options: SchemaOptions
    @Option(help: "The role, as CREATE ROLE declares it.") var role: String
    @Option(help: "The user's record name in the container.") var userRecordName: String

    /// Gives the user the role, or takes it.
    func set(_ isGiven: Bool) async throws {
        let (place, client) = try options.open()
        _ = try await client.schema(
            "roles", in: place,
            ["role": .text(role), "userRecordName": .text(userRecordName), "isGiven": .flag(isGiven)])
    }
}

/// Gives a user a role; an addition to Apple's tool.
struct AddRoleMemberCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add-role-member", abstract: "Give a user a custom role.",
        discussion: "An addition to Apple's tool, where it is done in the Console.")

    @OptionGroup var member: RoleMemberOptions

    func run() async throws { try await member.set(true) }
}

/// Takes a role from a user; an addition to Apple's tool.
struct RemoveRoleMemberCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove-role-member", abstract: "Take a custom role from a user.",
        discussion: "An addition to Apple's tool, where it is done in the Console.")

    @OptionGroup var member: RoleMemberOptions

    func run() async throws { try await member.set(false) }
}
